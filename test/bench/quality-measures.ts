/**
 * The tasks of `bench -- quality`. Each method takes the best of the first settings of its grid on a validation part,
 * and is fitted again on the whole training part; `fit_seconds` is that last fit. Neural methods take their first
 * setting. The automatic choice sees the training part only. Every list is scored by the exported ONNX and ranked by
 * shared/rank.ts.
 */

import { fitSeconds as secondsForChoice, secondsForFinalFit } from "../../trainer/choose/budget.ts";
import { casesOfSplit } from "../../trainer/choose/evaluate/evaluation-cases.ts";
import { selectModel } from "../../trainer/choose/select.ts";
import { methodNamed } from "../../trainer/learn/blends.ts";
import { METHODS } from "../../trainer/learn/methods.ts";
import type { Method, TrainingData } from "../../trainer/learn/model.ts";
import { samplePositions, seededRandom } from "../../trainer/learn/numerics/seeded-random.ts";
import type { RealDataSet, SessionDataSet } from "../fixtures/real-data.ts";
import { compared, type Figure } from "./bench.ts";
import { COLD_TASKS, coldFigures } from "./quality-cold.ts";
import { FILE_TASKS, fileFigures } from "./quality-files.ts";
import { HIDDEN_USER_TASKS, hiddenUserFigures } from "./quality-hidden-users.ts";
import { BUDGET, benchContext, type Judged, judge } from "./quality-judge.ts";
import { RATED_TASKS, ratedFigures } from "./quality-rated.ts";
import { SESSION_SET, sessionFigures } from "./quality-sessions.ts";
import { SMALL_SET, SMALL_TASKS, smallFigures } from "./quality-small.ts";
import { type PreparedTask, partsFor, prepare, QUALITY_TASKS, type QualityTask, taskName } from "./quality-tasks.ts";

const SEED = 7;
const SETTINGS_MAX = 3;
const VALIDATION_SHARE = 0.1;
const VALIDATION_LISTS_MAX = 3000;

const CHOICE_SECONDS_MAX = 7200;
const REPORT_EVERY_SECONDS = 120;
const SMALL = { seeds: 20, seconds: 20 };

export type QualityOptions = {
  readonly methods: readonly string[] | undefined;
  /** Budget of the automatic choice; undefined for the service's default. */
  readonly seconds: number | undefined;
  /** A Python with numpy and scipy for the references of sessions; undefined: they are left out. */
  readonly python?: string | undefined;
};

type Saying = { readonly say: (line: string) => void };

/** A task with its name for `--tasks`. */
type Measured = {
  readonly name: string;
  readonly set: RealDataSet | SessionDataSet;
  readonly measure: () => Promise<Figure[]>;
};

/** Tasks that take more than half an hour. */
const LONG: ReadonlySet<string> = new Set(["ml-1m.next-item", "ml-1m.set", "yelp2018.set"]);

/** Longest first, so that two processes end at about the same time. */
export function qualityMeasures(options: QualityOptions & Saying): Measured[] {
  const { say } = options;
  const seconds = options.seconds || undefined; // where nothing but the choice is measured, it has its usual time
  const tasks: Measured[] = [
    ...QUALITY_TASKS.map((task) => {
      const name = taskName(task);
      return { name, set: task.set, measure: () => taskFigures(task, { ...options, name: `quality.${name}` }) };
    }),
    ...FILE_TASKS.map((set) => {
      return { name: `${set}.set`, set, measure: () => fileFigures(set, { say, seconds }) };
    }),
    ...COLD_TASKS.map((set) => ({ name: `${set}.cold`, set, measure: () => coldFigures(set, say) })),
    ...HIDDEN_USER_TASKS.map((set) => {
      return { name: `${set}.hidden-users`, set, measure: () => hiddenUserFigures(set, say) };
    }),
    {
      name: `${SESSION_SET}.sessions`,
      set: SESSION_SET,
      measure: () => sessionFigures({ python: undefined, ...options, seconds }),
    },
    ...RATED_TASKS.map((set) => ({ name: `${set}.rated`, set, measure: () => ratedFigures(set, say) })),
    ...SMALL_TASKS.map((rows): Measured => {
      const name = `${SMALL_SET}.${rows}-rows`;
      return { name, set: SMALL_SET, measure: () => smallFigures(rows, { ...SMALL, say }) };
    }),
  ];
  return tasks.sort((a, b) => Number(LONG.has(b.name)) - Number(LONG.has(a.name)));
}

type TaskOptions = QualityOptions & Saying & { readonly name: string };

async function taskFigures(task: QualityTask, { name, methods, say, ...given }: TaskOptions): Promise<Figure[]> {
  const runs: ReadonlyMap<string, Run>[] = [];
  let automaticJudged: Quality | undefined; // one more candidate for the best, if evaluated on the same splits
  const figures: Figure[] = [];
  for (const seed of task.seeds) {
    const prepared = await prepare(task, seed);
    const { data, cases } = prepared;
    const seconds = given.seconds ?? secondsForChoice(data.items.length, CHOICE_SECONDS_MAX);
    say(`  ${name}: ${data.itemCount} items, ${data.items.length} rows to learn from, ${cases.count} lists`);
    const run = new Map<string, Run>();
    for (const own of methods ?? Object.keys(task.references)) {
      run.set(own, await fitAndJudge(own, prepared, task));
      const { recall, ndcg, fitSeconds } = run.get(own)!;
      say(`    ${own}: recall ${recall.toFixed(4)}, ndcg ${ndcg.toFixed(4)}, ${fitSeconds.toFixed(1)} s`);
    }
    runs.push(run);
    if (seconds > 0 && seed === task.seeds[0]) {
      const { judged, figures: own } = await automatic(task, prepared, { name, seconds, say });
      if (task.seeds.length === 1) automaticJudged = judged;
      figures.push(...own);
    }
  }
  let best: Quality = automaticJudged ?? { recall: 0, ndcg: 0 };
  for (const own of runs[0]!.keys()) {
    const mean = (read: (run: Run) => number) => runs.reduce((sum, run) => sum + read(run.get(own)!), 0) / runs.length;
    const judged = { recall: mean((run) => run.recall), ndcg: mean((run) => run.ndcg) };
    if (judged.ndcg > best.ndcg) best = judged;
    figures.push(
      ...qualityFigures(`${name}.${own}`, task.k, judged, task.references[own]),
      { name: `${name}.${own}.fit_seconds`, value: mean((run) => run.fitSeconds), unit: "s" },
      { name: `${name}.${own}.artifact_mb`, value: mean((run) => run.megabytes), unit: "MB" },
    );
  }
  return [...figures, ...qualityFigures(`${name}.best`, task.k, best, task.target)];
}

async function fitAndJudge(name: string, prepared: PreparedTask, { k, protocol }: QualityTask): Promise<Run> {
  const method = METHODS[name];
  const params = method && (await bestParams(method, prepared.data, { k, protocol }));
  if (!method || !params) throw new Error(`No method ${JSON.stringify(name)} can learn from these data.`);
  const begin = performance.now();
  const fitted = await method.fit(prepared.data, params, benchContext(seededRandom(SEED)));
  const fitSeconds = (performance.now() - begin) / 1000;
  return { ...(await judge(fitted, prepared.cases, { k })), fitSeconds };
}

const TRAINED: ReadonlySet<string> = new Set(["sasrec", "pooled_history", "neural_blend", "pooled_blend"]);

/** The first setting of the grid with the best NDCG on a validation part. */
async function bestParams(method: Method, data: TrainingData, { k, protocol }: Pick<QualityTask, "k" | "protocol">) {
  const grid = method.grid(data).slice(0, SETTINGS_MAX);
  if (grid.length < 2 || TRAINED.has(method.name)) return grid[0];
  const { train, targets } = partsFor(protocol, data, { share: VALIDATION_SHARE, seed: SEED });
  const cases = casesOfSplit(train, targets, { withHistoryOnly: true });
  const positions = samplePositions(cases.count, VALIDATION_LISTS_MAX, seededRandom(SEED));
  let best = { params: grid[0]!, ndcg: -1 };
  for (const params of grid) {
    const fitted = await method.fit({ ...data, ...train }, params, benchContext(seededRandom(SEED)));
    const { ndcg } = await judge(fitted, cases, { k, positions });
    if (ndcg > best.ndcg) best = { params, ndcg };
  }
  return best.params;
}

type Quality = Pick<Judged, "recall" | "ndcg">;
type Run = Judged & { readonly fitSeconds: number };

function qualityFigures(
  name: string,
  k: number,
  { recall, ndcg }: Quality,
  reference: readonly [number, number] | undefined,
): Figure[] {
  const figure = (metric: string, value: number, other: number | undefined) =>
    other === undefined
      ? { name: `${name}.${metric}@${k}`, value, unit: "share" }
      : compared(`${name}.${metric}@${k}`, "share", value, other);
  return [figure("recall", recall, reference?.[0]), figure("ndcg", ndcg, reference?.[1])];
}

type AutomaticOptions = Saying & {
  readonly name: string;
  readonly seconds: number;
  /** Seconds on the clock of the choice and of the final fit. Absent: the machine's. */
  readonly clock?: () => number;
};

/** The service's automatic choice from the training part, evaluated on the test part. */
export async function automatic(task: QualityTask, prepared: PreparedTask, options: AutomaticOptions) {
  const { name, seconds, say, clock: time = () => performance.now() / 1000 } = options;
  const begin = time();
  const clock = () => time() - begin;
  const threads = options.clock ? 1 : undefined; // a clock of CPU seconds counts those of all threads
  const signal = new AbortController().signal;
  const limits = { signal, clock, threads, memoryMbMax: 8000, budget: BUDGET, seed: SEED };
  let reportedAt = 0;
  const progress = (share: number, detail: string) => {
    if (clock() < reportedAt + REPORT_EVERY_SECONDS) return;
    reportedAt = clock();
    say(`    ${reportedAt.toFixed(0)} s, ${(100 * share).toFixed(0)} %: ${detail}`);
  };
  const { dataset } = prepared;
  const selection = await selectModel({
    ...limits,
    dataset,
    methods: METHODS,
    protocol: task.protocol,
    metric: `ndcg@${task.k as 10 | 20}`,
    secondsMax: seconds,
    progress,
  });
  const { chosen } = selection;
  const fitted = await methodNamed(chosen.method, METHODS)!.fit(prepared.data, chosen.params, {
    ...benchContext(seededRandom(SEED)),
    ...{ clock, threads, secondsMax: secondsForFinalFit(selection.report.seconds) },
  });
  const judged = await judge(fitted, prepared.cases, task);
  const { recall, ndcg } = judged;
  say(`    chosen: ${chosen.method} ${JSON.stringify(chosen.params)}`);
  say(`    recall ${recall.toFixed(4)}, ndcg ${ndcg.toFixed(4)}, ${clock().toFixed(0)} s`);
  const figures = [
    ...qualityFigures(`${name}.chosen`, task.k, judged, task.target),
    { name: `${name}.chosen.seconds`, value: clock(), unit: "s" },
  ];
  return { judged, figures, selection };
}
