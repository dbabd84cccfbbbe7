/**
 * How the quality of the automatic choice grows with its time, on this machine and on one that is half as fast:
 *
 *     npm run bench -- quality-growth [--tasks=ml-100k.set,…] [--seconds=36,180,900] [--plot=FILE.svg]
 *
 * Every point is a choice and a final fit of its own within that budget, because a smaller budget also plans differently. The best trial
 * so far within one long choice would not show this. A fifth of the largest budget should reach 99 % of its NDCG.
 *
 * Seconds are CPU seconds of all threads, so other work on the machine changes nothing. On the slower machine everything takes twice
 * as many.
 */
import { writeFile } from "node:fs/promises";
import { type Bench, compared, type Figure } from "./bench.ts";
import { growthPlot, linearAxis } from "./growth-plot.ts";
import { automatic } from "./quality-measures.ts";
import { prepare, QUALITY_TASKS, type QualityTask, taskName } from "./quality-tasks.ts";

const TASKS = "ml-100k.set,amazon-beauty.next-item,amazon-games.next-item,ml-1m.set";
/** The service's budget for small data, a fifth of it, and a fifth of that. */
const SECONDS = "36,180,900";
const SPEEDS = { "full-speed": 1, "half-speed": 2 };
const NDCG_FRACTION_LEAST = 0.99;

type Point = { readonly seconds: number; readonly ndcg: number; readonly method: string };

export const qualityGrowth: Bench = async ({ say, fail, flags }) => {
  const budgets = (flags.get("seconds") ?? SECONDS).split(",").map(Number);
  const lines: { name: string; points: readonly Point[] }[] = [];
  const figures: Figure[] = [];
  for (const name of (flags.get("tasks") ?? TASKS).split(",")) {
    const task = QUALITY_TASKS.find((one) => taskName(one) === name);
    if (!task) {
      fail(`There is no task ${JSON.stringify(name)}.`);
      continue;
    }
    for (const [speed, slowness] of Object.entries(SPEEDS)) {
      const label = `quality-growth.${name}.${speed}`;
      const points = await growthOf(task, { label, slowness, budgets, say });
      for (const { seconds, ndcg } of points)
        figures.push({ name: `${label}.${seconds}s.ndcg@${task.k}`, value: ndcg, unit: "share" });
      const last = points.at(-1)!;
      const early = points.findLast(({ seconds }) => seconds <= last.seconds / 5);
      if (early)
        figures.push(compared(`${label}.ndcg_in_a_fifth`, "share", early.ndcg / last.ndcg, NDCG_FRACTION_LEAST));
      lines.push({ name: `${name}, ${speed}`, points });
    }
  }
  for (const { name, points } of lines)
    say(`  ${name}: ${points.map((one) => `${one.seconds} s ${one.ndcg.toFixed(4)} ${one.method}`).join(", ")}`);
  const plot = flags.get("plot");
  if (plot) await writeFile(plot, plotOf(lines));
  return figures;
};

type GrowthOptions = {
  readonly label: string;
  readonly slowness: number;
  readonly budgets: readonly number[];
  readonly say: (line: string) => void;
};

async function growthOf(task: QualityTask, { label, slowness, budgets, say }: GrowthOptions): Promise<Point[]> {
  const prepared = await prepare(task, task.seeds[0]!);
  const clock = () => {
    const { user, system } = process.cpuUsage();
    return (slowness * (user + system)) / 1e6;
  };
  const points: Point[] = [];
  for (const seconds of budgets) {
    const name = `${label}.${seconds}s`;
    say(`  ${name}`);
    const { judged, selection } = await automatic(task, prepared, { name, seconds, clock, say });
    points.push({ seconds, ndcg: judged.ndcg, method: selection.chosen.method });
  }
  return points;
}

function plotOf(lines: readonly { readonly name: string; readonly points: readonly Point[] }[]): string {
  const series = lines.map(({ name, points }) => ({
    name,
    points: points.map(({ seconds, ndcg }) => ({ size: seconds, value: ndcg / points.at(-1)!.ndcg })),
  }));
  const text = {
    title: "Quality of the automatic choice",
    sizes: "CPU seconds of the budget",
    unit: "NDCG ÷ last NDCG",
  };
  return growthPlot(series, text, linearAxis);
}
