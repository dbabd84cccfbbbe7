/**
 * How the quality of the automatic choice grows with its time, on this machine and on one that seems half as fast:
 *
 *     npm run bench -- quality-growth [--tasks=ml-100k.next-item,amazon-beauty.next-item] [--seconds=15,30,60,120,240] --json
 *
 * The slower machine is a clock that runs twice as fast, so that every fit takes twice its time.
 */
import type { Bench, Figure } from "./bench.ts";
import { automatic } from "./quality-measures.ts";
import { prepare, QUALITY_TASKS, taskName } from "./quality-tasks.ts";

const SPEEDS = [
  { speed: "full-speed", slowness: 1 },
  { speed: "half-speed", slowness: 2 },
] as const;

export const qualityGrowth: Bench = async ({ say, fail, flags }) => {
  const wanted = (flags.get("tasks") ?? "ml-100k.next-item,amazon-beauty.next-item").split(",");
  const budgets = (flags.get("seconds") ?? "15,30,60,120,240").split(",").map(Number);
  const figures: Figure[] = [];
  for (const name of wanted) {
    const task = QUALITY_TASKS.find((one) => taskName(one) === name);
    if (!task) {
      fail(`There is no task ${JSON.stringify(name)}.`);
      continue;
    }
    const prepared = await prepare(task, task.seeds[0]!);
    for (const { speed, slowness } of SPEEDS) {
      for (const seconds of budgets) {
        const label = `quality-growth.${name}.${speed}.${seconds}s`;
        say(`  ${label}`);
        const { judged, selection } = await automatic(task, prepared, { name: label, seconds, slowness, say });
        const { method } = selection.chosen;
        figures.push({ name: `${label}.ndcg@${task.k} (${method})`, value: judged.ndcg, unit: "share" });
      }
    }
  }
  return figures;
};
