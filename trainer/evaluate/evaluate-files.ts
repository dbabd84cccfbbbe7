import type { Dataset, Interactions } from "../dataset/dataset.ts";
import { reorderItems } from "../dataset/reorder-items.ts";
import type { Targets } from "../dataset/split.ts";
import { rowsWhere } from "../dataset/split.ts";
import type { UserValueTable } from "../dataset/user-value-table.ts";
import type { Method, ServingBudget } from "../models/model.ts";
import { methodNamed } from "./blend-method.ts";
import { mean } from "./bootstrap.ts";
import { isSameChoice, POPULARITY } from "./choice.ts";
import type { Protocol } from "./choose-split.ts";
import { type Evaluation, evaluate, type MetricAtK, type Served, type ServedValues, timesShown } from "./evaluate.ts";
import { evaluateNewcomers, type NewcomerFigures, tableOfTrain, valuesOfTrain } from "./evaluate-newcomers.ts";
import { casesOfSessions, casesOfSplit, type EvaluationCases } from "./evaluation-cases.ts";
import type { TrainAndTest } from "./interaction-files.ts";
import { coverage } from "./metrics.ts";
import { watchPeakMemory } from "./peak-memory.ts";
import { samplePositions, seededRandom } from "./seeded-random.ts";
import { type Choice, type Selection, selectModel } from "./select.ts";
import { bytesOf, fitCandidate, type TrialMeans } from "./trial.ts";
import { usersOfTrain } from "./users-of-train.ts";
import { popularityOrder } from "./validation.ts";

export type EvaluateFilesOptions = {
  readonly protocol: Exclude<Protocol, "service">;
  /** Methods to choose from; popularity is always tried, as the baseline. */
  readonly methods: Readonly<Record<string, Method>>;
  /** Whether every method is measured on the test file with its best settings, or only the chosen one and popularity. */
  readonly measureAll: boolean;
  readonly cutOffs: readonly number[];
  readonly includeSeen: boolean;
  /** For choosing and fitting all models together. */
  readonly secondsMax: number;
  readonly memoryMbMax: number;
  readonly budget: ServingBudget;
  readonly seed: number;
  /** Where long fits of the choice keep their state; those measured are always made anew, so that their seconds are true. */
  readonly checkpointFolder?: string;
  readonly signal: AbortSignal;
  readonly clock: () => number;
  readonly log: (line: string) => void;
};

/** What `--json` prints: names as in the command's contract. */
export type FileEvaluation = {
  readonly protocol: string;
  /** Lists judged: users with something to find in the test file, or prefixes of sessions. */
  readonly users: number;
  readonly items: number;
  readonly models: readonly ModelFigures[];
  /** Users of the test file without train rows, where a file of users' attributes was given. */
  readonly users_without_history?: NewcomerFigures;
};

export type ModelFigures = {
  readonly name: string;
  readonly chosen: boolean;
  readonly params: Readonly<Record<string, number>>;
  readonly fit_seconds: number;
  readonly peak_mb: number;
  readonly artifact_bytes: number;
  readonly truncation: string;
  readonly metrics: Readonly<Record<string, number>>;
};

/** More lists are sampled: at a millisecond each this is some minutes a model. */
const LISTS_MAX = 200_000;

/**
 * Models chosen and fitted on the train file alone, judged on the test file: all items of both files ranked, through the exported
 * ONNX and the ranking function of the edge.
 */
export async function evaluateFiles(data: TrainAndTest, options: EvaluateFilesOptions): Promise<FileEvaluation> {
  const { protocol, seed, log } = options;
  const begin = options.clock();
  const table = tableOfTrain(data.train);
  const selection = await choose(usersOfTrain(data.train), table, options);
  const { method, params } = selection.chosen;
  log(`chosen on a held-out part of the train file: ${method} ${JSON.stringify(params)}`);
  const order = popularityOrder(data.train, selection.halfLifeDays, seed);
  const train = reorderItems(data.train, order);
  const known = usersOfTrain(train);
  const cases = casesOf(train, reorderedRows(data.test, order), options);
  const positions = samplePositions(cases.count, LISTS_MAX, seededRandom(seed, 43));
  const values = valuesOfTrain(train, table, selection);
  const models: ModelFigures[] = [];
  let newcomers: NewcomerFigures | undefined;
  const secondsLeft = () => options.secondsMax - (options.clock() - begin);
  for (const choice of byChance(selection)) {
    const isChosen = !models.some(({ chosen }) => chosen);
    if (!isChosen && !options.measureAll && choice.method !== POPULARITY) continue;
    const secondsMax = isChosen ? Math.max(SECONDS_LEAST, secondsLeft()) : options.secondsMax / 2;
    const secondsHard = isChosen ? secondsMax + LATE_SHARE * options.secondsMax : 2 * options.secondsMax;
    try {
      const task = { choice, train: known, values, cases, positions, secondsMax, secondsHard };
      const { served, figures } = await measure(task, options);
      models.push({ ...figures, chosen: isChosen });
      const report = selection.report.user_attributes;
      newcomers ??= await evaluateNewcomers(cases, { ...options, positions }, { served, report });
    } catch (error) {
      options.signal.throwIfAborted();
      if (choice.method === POPULARITY) throw error;
      const next = isChosen ? ": the next best is taken" : "";
      log(`${choice.method} failed: ${error instanceof Error ? error.message : String(error)}${next}`);
    }
  }
  const whole = { protocol, users: positions.length, items: train.itemCount, models };
  return newcomers ? { ...whole, users_without_history: newcomers } : whole;
}

async function choose(
  train: Dataset,
  userValues: UserValueTable | undefined,
  options: EvaluateFilesOptions,
): Promise<Selection> {
  const { cutOffs, log } = options;
  const k = Math.max(...cutOffs);
  let lastDetail = "";
  const selection = await selectModel({
    ...options,
    dataset: train,
    userValues,
    metric: `ndcg@${k}` as MetricAtK,
    progress: (share, detail) => {
      const [name] = detail.split(":");
      if (name !== lastDetail) log(`${Math.round(100 * share)} % ${name}`);
      lastDetail = name ?? "";
    },
  });
  for (const { method, params, outcome, reason, fit_seconds } of selection.report.candidates) {
    const seconds = fit_seconds === null ? "" : ` (fitted in ${fit_seconds.toFixed(1)} s)`;
    log(`${outcome}: ${method} ${JSON.stringify(params)}${seconds}: ${reason}`);
  }
  const ofUsers = selection.report.user_attributes;
  if (ofUsers) log(ofUsers.reason);
  for (const warning of selection.report.warnings) log(`warning: ${warning}`);
  return selection;
}

/** What the fit of the chosen may take at least, and of all seconds, how late it may be: then the next best is taken. */
const SECONDS_LEAST = 5;
const LATE_SHARE = 0.1;

/** The chosen first, then the others, the best on the validation part first; popularity, which cannot fail, is among them. */
const byChance = ({ chosen, families }: Selection): Choice[] => [
  chosen,
  ...families.filter((choice) => !isSameChoice(choice, chosen)),
];

type Measured = {
  readonly choice: Choice;
  readonly train: Dataset;
  readonly values: ServedValues | undefined;
  readonly cases: EvaluationCases;
  readonly positions: Uint32Array;
  readonly secondsMax: number;
  readonly secondsHard: number;
};

async function measure(
  { choice, train, values, cases, positions, secondsMax, secondsHard }: Measured,
  options: EvaluateFilesOptions,
): Promise<{ readonly served: Served; readonly figures: Omit<ModelFigures, "chosen"> }> {
  const { log, methods, cutOffs } = options;
  const method = methodNamed(choice.method, methods);
  if (!method) throw new Error(`There is no method ${JSON.stringify(choice.method)}.`);
  const peakMb = watchPeakMemory();
  const means: TrialMeans = { ...options, checkpointFolder: undefined, progress: () => {} };
  const task = { data: train, secondsMax, secondsHard };
  const { fitted, seconds } = await fitCandidate({ method, params: choice.params }, task, means);
  const served = { exported: fitted.export(options.budget), historyMax: fitted.historyMax, values };
  log(`${choice.method}: fitted on the whole train file in ${seconds.toFixed(1)} s, ranking for ${positions.length}`);
  const evaluation = await evaluate(cases, served, { ...options, positions });
  const figures = {
    name: choice.method,
    params: choice.params,
    fit_seconds: seconds,
    peak_mb: peakMb(),
    artifact_bytes: bytesOf(served),
    truncation: served.exported.truncation,
    metrics: figuresOf(evaluation, cases.itemCount, cutOffs),
  };
  return { served, figures };
}

function figuresOf(evaluation: Evaluation, itemCount: number, cutOffs: readonly number[]): Record<string, number> {
  const means = [...evaluation.values].map(([name, values]) => [name, mean(values)] as const);
  const covered = cutOffs.map((k) => [`coverage@${k}`, coverage(timesShown(evaluation, itemCount, k))] as const);
  return Object.fromEntries([...means, ...covered]);
}

function casesOf(train: Dataset, test: Interactions, { protocol, includeSeen }: EvaluateFilesOptions): EvaluationCases {
  if (protocol === "sessions") return casesOfSessions(test);
  const positives: Targets = rowsWhere(test, (row) => test.positive[row] === 1);
  return casesOfSplit(train, positives, { includeSeen });
}

function reorderedRows(interactions: Interactions, order: Int32Array): Interactions {
  const newIndex = new Int32Array(order.length);
  for (const [to, from] of order.entries()) newIndex[from] = to;
  return { ...interactions, items: interactions.items.map((item) => newIndex[item]!) };
}
