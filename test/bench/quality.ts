/**
 * Ranking quality on public data, all items ranked, next to what a study of the same data found and to the targets:
 *
 *     npm run bench -- quality [--tasks=ml-1m.next-item,amazon-beauty.cold,ml-1m.hidden-users,ml-1m.rated,ml-100k.1000-rows]
 *                              [--methods=local_ridge,…] [--seconds=600] [--processes=2] [--resume=FOLDER] [--python=PATH] --json
 *
 * The automatic choice has `--seconds` for each set (0: none, unless a task measures nothing else; without: what the service would
 * allow). Each task runs in a process of its own, `--processes` of them at once: with as many as there are cores all of it takes an
 * hour and a half to two, and fits are slower for it. The figures of finished tasks are kept in the folder `--resume`; the same command
 * measures only the other tasks. `--python`, one with numpy and scipy, adds the session models of others to `retailrocket.sessions`.
 * What is required stands next to what was measured at the end, on standard error.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { missingRealData } from "../fixtures/real-data.ts";
import type { Bench, Figure } from "./bench.ts";
import { measuredInProcess } from "./measured-process.ts";
import { type QualityOptions, qualityMeasures } from "./quality-measures.ts";
import { requiredTable } from "./quality-required.ts";

export const quality: Bench = async ({ say, fail, flags }) => {
  const wanted = flags.get("tasks")?.split(",");
  const given = flags.get("seconds");
  const options: QualityOptions = {
    methods: flags.get("methods")?.split(","),
    seconds: given === undefined ? undefined : Number(given),
    python: flags.get("python"),
  };
  const folder = flags.get("resume");
  const all = qualityMeasures({ ...options, say });
  for (const name of wanted ?? []) {
    if (!all.some((task) => task.name === name)) fail(`There is no task ${JSON.stringify(name)}.`);
  }
  const waiting = all.filter(({ name, set }) => {
    if (wanted && !wanted.includes(name)) return false;
    const missing = missingRealData(set);
    if (missing) say(`  ${name} ${missing}`);
    return !missing;
  });
  const byTask = new Map<string, readonly Figure[]>(waiting.map(({ name }) => [name, []]));
  const work = async () => {
    for (let task = waiting.shift(); task; task = waiting.shift()) {
      const { name } = task;
      const measured = await measuredOrKept(name, { folder, options }, (line) =>
        say(`  ${name}: ${line.trim()}`),
      ).catch(String);
      if (typeof measured === "string") fail(`${name}: ${measured}`);
      else byTask.set(name, measured);
    }
  };
  await Promise.all(Array.from({ length: Number(flags.get("processes") ?? 1) }, work));
  const figures = [...byTask.values()].flat();
  const { text, unmet } = requiredTable(figures);
  say(`\n${text}\n`);
  for (const what of unmet) fail(`${what}: less than is required`);
  return figures;
};

type KeptIn = { readonly folder: string | undefined; readonly options: QualityOptions };

/** Measures a task, or reads its figures from the folder if the same task was measured with the same options. */
async function measuredOrKept(
  task: string,
  { folder, options }: KeptIn,
  say: (line: string) => void,
): Promise<readonly Figure[]> {
  const path = folder && join(folder, `${task}.json`);
  const kept = path && (await readFile(path, "utf8").catch(() => undefined));
  if (kept) {
    const { options: before, figures } = JSON.parse(kept) as { readonly options: unknown; readonly figures: Figure[] };
    if (JSON.stringify(before) === JSON.stringify(options)) {
      say(`measured before, kept in ${path}`);
      return figures;
    }
  }
  const program = "quality-process.ts";
  const figures = await measuredInProcess<readonly Figure[]>(program, [JSON.stringify({ ...options, task })], say);
  if (path) {
    await mkdir(folder, { recursive: true });
    await writeFile(path, JSON.stringify({ options, figures }));
  }
  return figures;
}
