import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import * as z from "zod";
import { evaluateFiles } from "../../trainer/choose/files/evaluate-files.ts";
import { readFiles, type TrainAndTest } from "../../trainer/choose/files/read-files.ts";
import { METHODS } from "../../trainer/learn/methods.ts";
import type { Interactions } from "../../trainer/read/dataset/dataset.ts";
import { realDataFolder, type SessionDataSet } from "../fixtures/real-data.ts";
import { compared, type Figure } from "./bench.ts";
import { BUDGET } from "./quality-judge.ts";

export const SESSION_SET = "retailrocket" satisfies SessionDataSet;

const K = 20;
const METRIC_NAMES = ["hr", "mrr"] as const;
const DEFAULT_SECONDS = 600;
const referencesSchema = z.record(z.string(), z.object({ [`hr@${K}`]: z.number(), [`mrr@${K}`]: z.number() }));

type SessionOptions = {
  /** Seconds of the automatic choice; undefined: 600. */
  readonly seconds: number | undefined;
  /** A Python with numpy and scipy; undefined: the references are left out. */
  readonly python: string | undefined;
  readonly say: (line: string) => void;
};

/**
 * The automatic choice from the train file, measured on every prefix of the test sessions; items of a prefix stay candidates. V-SKNN,
 * STAN, SLIST and S-Walk in numpy (reference/session_models.py) learn and rank the same rows. Each figure stands next to their best.
 */
export async function sessionFigures({ seconds, python, say }: SessionOptions): Promise<Figure[]> {
  const name = `quality.${SESSION_SET}.sessions`;
  const folder = realDataFolder(SESSION_SET);
  const files = { train: join(folder, "train.csv.gz"), test: join(folder, "test.csv.gz"), areSessions: true };
  const { signal } = new AbortController();
  const data = await readFiles({ ...files, users: undefined, items: undefined, columns: {} }, signal);
  const references = python === undefined ? {} : await referencesOf(python, data);
  for (const [model, metrics] of Object.entries(references)) say(`    ${model}: ${JSON.stringify(metrics)}`);
  const begin = performance.now();
  const { models } = await evaluateFiles(data, {
    protocol: "sessions",
    methods: METHODS,
    measureAll: false,
    cutOffs: [K],
    includeSeen: false,
    secondsMax: seconds ?? DEFAULT_SECONDS,
    memoryMbMax: 8000,
    budget: BUDGET,
    seed: 1,
    signal,
    clock: () => (performance.now() - begin) / 1000,
    log: (line) => say(`    ${line}`),
  });
  const chosen = models.find((model) => model.chosen)!;
  const figures = METRIC_NAMES.map((metric) => {
    const key = `${metric}@${K}` as const;
    const value = chosen.metrics[key]!;
    const others = Object.values(references).map((metrics) => metrics[key]!);
    const figure = `${name}.chosen.${key}`;
    return others.length > 0
      ? compared(figure, "share", value, Math.max(...others))
      : { name: figure, value, unit: "share" };
  });
  return [...figures, { name: `${name}.chosen.fit_seconds`, value: chosen.fit_seconds, unit: "s" }];
}

async function referencesOf(python: string, { train, test }: TrainAndTest) {
  const folder = await mkdtemp(join(tmpdir(), "bench-sessions-"));
  try {
    await writeFile(join(folder, "item_count.u32"), Uint32Array.of(train.itemCount));
    for (const [name, part] of Object.entries({ train, test })) {
      const { start, items } = byTime(part);
      await writeFile(join(folder, `${name}_start.u32`), start);
      await writeFile(join(folder, `${name}_items.i32`), items);
    }
    const script = join(import.meta.dirname, "reference/session_models.py");
    const { stdout } = await promisify(execFile)(python, [script, folder]);
    return referencesSchema.parse(JSON.parse(stdout));
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** The sessions in the order of their first click. */
function byTime({ userCount, userStart, items, times }: Interactions) {
  const firstTime = (session: number) => times[userStart[session]!]!;
  const sessions = Array.from({ length: userCount }, (_, session) => session)
    .filter((session) => userStart[session + 1]! > userStart[session]!)
    .sort((a, b) => firstTime(a) - firstTime(b));
  const start = new Uint32Array(sessions.length + 1);
  const ordered = new Int32Array(items.length);
  for (const [i, session] of sessions.entries()) {
    const own = items.subarray(userStart[session], userStart[session + 1]);
    ordered.set(own, start[i]);
    start[i + 1] = start[i]! + own.length;
  }
  return { start, items: ordered };
}
