import { POPULARITY } from "../../../shared/manifest.ts";
import type { Method, ServingBudget } from "../../learn/model.ts";
import { samplePositions, seededRandom } from "../../learn/numerics/seeded-random.ts";
import type { Dataset, Interactions } from "../../read/dataset/dataset.ts";
import { reorderItems } from "../../read/dataset/reorder-items.ts";
import type { Targets } from "../../read/dataset/split.ts";
import { rowsWhere } from "../../read/dataset/split.ts";
import type { UserValueTable } from "../../read/dataset/user-value-table.ts";
import { methodNamed } from "../choosing/blend-method.ts";
import { type Choice, isSameChoice } from "../choosing/choice.ts";
import { bytesOf, fitCandidate, type TrialContext } from "../choosing/trial.ts";
import { popularityOrder } from "../choosing/validation.ts";
import { mean } from "../lists/bootstrap.ts";
import { type Evaluation, evaluate, type MetricAtK, timesShown } from "../lists/evaluate.ts";
import { casesOfSessions, casesOfSplit, type EvaluationCases } from "../lists/evaluation-cases.ts";
import type { Served, ServedValues } from "../lists/served.ts";
import { coverage } from "../metrics.ts";
import { type Selection, selectModel } from "../select.ts";
import type { Protocol } from "../splits/choose-split.ts";
import { evaluateNewcomers, type NewcomerFigures, tableOfTrain, valuesOfTrain } from "./evaluate-newcomers.ts";
import { cheapFirst, costOf, listsWithin, type NotMeasured, shareOf, tooMuchFor, untuned } from "./further-models.ts";
import type { TrainAndTest } from "./interaction-files.ts";
import { watchPeakMemory } from "./peak-memory.ts";
import { testFileWarnings } from "./test-file-warnings.ts";
import { usersOfTrain } from "./users-of-train.ts";

export type EvaluateFilesOptions = {
  readonly protocol: Exclude<Protocol, "service">;
  /** Methods to choose from; popularity is always tried, as the baseline. */
  readonly methods: Readonly<Record<string, Method>>;
  /** Whether every method that fits is measured on the test file with its best settings, or only the chosen one and popularity. */
  readonly measureAll: boolean;
  readonly cutOffs: readonly number[];
  readonly includeSeen: boolean;
  /** For choosing and fitting all models together. */
  readonly secondsMax: number;
  readonly memoryMbMax: number;
  readonly budget: ServingBudget;
  readonly seed: number;
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
  /** Asked for and without figures, and why. */
  readonly not_measured: readonly NotMeasured[];
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
  for (const warning of testFileWarnings(data, cases, options)) log(`warning: ${warning}`);
  const listsMax = listsWithin(options.secondsMax, train.itemCount);
  const positions = samplePositions(cases.count, listsMax, seededRandom(seed, 43));
  const values = valuesOfTrain(train, table, selection);
  const task = { train: known, values, cases, positions };
  const first = await measureChosen(selection, task, { ...options, begin });
  const others = await measureOthers(selection, first, task, { ...options, begin });
  const notMeasured = [...first.notMeasured, ...others.notMeasured];
  const report = selection.report.user_attributes;
  const newcomers = await evaluateNewcomers(cases, { ...options, positions }, { served: first.served, report });
  const models = [{ ...first.figures, chosen: true }, ...others.models];
  const whole = { protocol, users: positions.length, items: train.itemCount, models, not_measured: notMeasured };
  return newcomers ? { ...whole, users_without_history: newcomers } : whole;
}

type TimedOptions = EvaluateFilesOptions & { /** By the clock, of the choosing. */ readonly begin: number };

/** The chosen model; where it cannot be fitted again, the next best that can. */
async function measureChosen(selection: Selection, task: Judging, options: TimedOptions) {
  const notMeasured: NotMeasured[] = [];
  for (const choice of byChance(selection)) {
    const secondsMax = Math.max(SECONDS_LEAST, options.secondsMax - (options.clock() - options.begin));
    const secondsHard = secondsMax + LATE_SHARE * options.secondsMax;
    const once = fitSecondsOf(choice, selection);
    const isFirst = notMeasured.length === 0;
    const time = { secondsMax, secondsHard: isFirst ? secondsHard : Math.max(secondsHard, PATIENCE * once) };
    const measured =
      !isFirst && once > secondsHard
        ? `it took ${once.toFixed(1)} s on a part of the data, and ${secondsHard.toFixed(1)} s are left`
        : await tryMeasure({ ...task, ...time, choice }, options);
    if (typeof measured !== "string") return { ...measured, choice, notMeasured };
    options.log(`${choice.method} failed: ${measured}: the next best is taken`);
    notMeasured.push({ name: choice.method, reason: measured });
  }
  throw new Error("Popularity cannot fail, and is among the choices.");
}

/** On the held-out split; 0 where it was not tried. */
const fitSecondsOf = (choice: Choice, { report }: Selection): number =>
  report.candidates.find((one) => isSameChoice(one, choice))?.fit_seconds ?? 0;

/** Popularity, and where all are to be measured every other method that was asked for, in the time that the chosen has left. */
async function measureOthers(
  selection: Selection,
  first: { readonly choice: Choice; readonly notMeasured: readonly NotMeasured[]; readonly judgingSeconds: number },
  task: Judging,
  options: TimedOptions,
) {
  const { methods, memoryMbMax, clock, begin } = options;
  const rest = options.measureAll ? untuned(selection, methods, task.train) : { choices: [], notMeasured: [] };
  const isOut = ({ method }: Choice) => first.notMeasured.some(({ name }) => name === method);
  const wanted = [...byChance(selection), ...rest.choices].filter(
    (choice) => choice !== first.choice && !isOut(choice) && (options.measureAll || choice.method === POPULARITY),
  );
  for (const { name, reason } of rest.notMeasured) options.log(`not measured: ${name}: ${reason}`);
  const notMeasured = [...rest.notMeasured];
  const models = new Map<Choice, ModelFigures>();
  let judgingSeconds = first.judgingSeconds;
  const inTurn = cheapFirst(wanted, methods, task.train);
  for (const [c, choice] of inTurn.entries()) {
    const isBaseline = choice.method === POPULARITY;
    const secondsLeft = options.secondsMax - (clock() - begin - judgingSeconds);
    const room = { data: task.train, secondsLeft, memoryMbMax };
    const reason = isBaseline ? undefined : tooMuchFor(choice, methods, room);
    const time = isBaseline
      ? shareOf(Math.max(SECONDS_LEAST, secondsLeft), 1)
      : shareOf(secondsLeft, inTurn.length - c, costOf(choice, methods, task.train)?.seconds);
    const measured = reason ?? (await tryMeasure({ ...task, ...time, choice }, options));
    if (typeof measured === "string") {
      options.log(`not measured: ${choice.method}: ${measured}`);
      notMeasured.push({ name: choice.method, reason: measured });
      continue;
    }
    judgingSeconds += measured.judgingSeconds;
    models.set(choice, { ...measured.figures, chosen: false });
  }
  return { models: wanted.flatMap((choice) => models.get(choice) ?? []), notMeasured };
}

/** The figures, or why there are none. Popularity has figures, or it throws. */
async function tryMeasure(task: Measured, options: EvaluateFilesOptions) {
  try {
    return await measure(task, options);
  } catch (error) {
    options.signal.throwIfAborted();
    if (task.choice.method === POPULARITY) throw error;
    return error instanceof Error ? error.message : String(error);
  }
}

async function choose(
  train: Dataset,
  userValues: UserValueTable | undefined,
  options: EvaluateFilesOptions,
): Promise<Selection> {
  const { cutOffs, log } = options;
  const k = Math.max(...cutOffs);
  const hasOthers = options.measureAll && Object.keys(options.methods).length > 2; // beside the chosen and popularity
  let lastDetail = "";
  const selection = await selectModel({
    ...options,
    secondsMax: (hasOthers ? CHOICE_SHARE : 1) * options.secondsMax,
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

/** Of the seconds, where several methods are to be measured: the rest is for fitting those that were not chosen. */
const CHOICE_SHARE = 0.7;
/** What the fit of the chosen may take at least, and of all seconds, how late it may be: then the next best is taken. */
const SECONDS_LEAST = 5;
const LATE_SHARE = 0.1;
/** How many times longer than on the held-out split a fit may take after another was too late: the machine is busier than it was. */
const PATIENCE = 4;

/** The chosen first, then the others, the best on the validation part first; popularity, which cannot fail, is among them. */
const byChance = ({ chosen, families }: Selection): Choice[] => [
  chosen,
  ...families.filter((choice) => !isSameChoice(choice, chosen)),
];

type Judging = {
  readonly train: Dataset;
  readonly values: ServedValues | undefined;
  readonly cases: EvaluationCases;
  readonly positions: Uint32Array;
};
type Measured = Judging & {
  readonly choice: Choice;
  readonly secondsMax: number;
  readonly secondsHard: number;
};

async function measure(
  { choice, train, values, cases, positions, secondsMax, secondsHard }: Measured,
  options: EvaluateFilesOptions,
): Promise<{
  readonly served: Served;
  readonly figures: Omit<ModelFigures, "chosen">;
  readonly judgingSeconds: number;
}> {
  const { log, methods, cutOffs } = options;
  const method = methodNamed(choice.method, methods);
  if (!method) throw new Error(`There is no method ${JSON.stringify(choice.method)}.`);
  const peakMb = watchPeakMemory();
  const context: TrialContext = { ...options, progress: () => {} };
  const task = { data: train, secondsMax, secondsHard };
  const { fitted, seconds } = await fitCandidate({ method, params: choice.params }, task, context);
  const served = { exported: fitted.export(options.budget), historyMax: fitted.historyMax, values };
  log(`${choice.method}: fitted on the whole train file in ${seconds.toFixed(1)} s, ranking for ${positions.length}`);
  const begin = options.clock();
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
  return { served, figures, judgingSeconds: options.clock() - begin };
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
