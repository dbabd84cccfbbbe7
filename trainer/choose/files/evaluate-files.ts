import { POPULARITY } from "../../../shared/manifest.ts";
import { methodNamed } from "../../learn/blends.ts";
import type { Method, ServingBudget } from "../../learn/model.ts";
import { samplePositions, seededRandom } from "../../learn/numerics/seeded-random.ts";
import type { Dataset, Interactions } from "../../read/dataset/dataset.ts";
import { reorderItems } from "../../read/dataset/reorder-items.ts";
import { rowsWhere } from "../../read/dataset/split.ts";
import { userValueTable } from "../../read/dataset/user-value-table.ts";
import { mean } from "../evaluate/bootstrap.ts";
import { type Evaluation, evaluate, type MetricAtK, secondsPerList, timesShown } from "../evaluate/evaluate.ts";
import { casesOfSessions, casesOfSplit, type EvaluationCases } from "../evaluate/evaluation-cases.ts";
import { coverage } from "../evaluate/metrics.ts";
import type { Served, ServedValues } from "../evaluate/offline-snapshot.ts";
import { type Selection, selectModel } from "../select.ts";
import type { Protocol } from "../splits/choose-split.ts";
import { interactionBytes, usersWithRows } from "../splits/sample-users.ts";
import { popularityOrder } from "../splits/validation.ts";
import { type Choice, isSameChoice } from "../tries/candidate.ts";
import { bytesOf, fitCandidate } from "../tries/trial.ts";
import { servedValues } from "../users-without-history/serve-user-values.ts";
import { watchPeakMemory } from "./peak-memory.ts";
import type { TrainAndTest } from "./read-files.ts";
import { testFileWarnings } from "./test-file-warnings.ts";

export type EvaluateFilesOptions = {
  readonly protocol: Exclude<Protocol, "service">;
  /** Methods to choose from; popularity is always tried, as the baseline. */
  readonly methods: Readonly<Record<string, Method>>;
  /** Whether every method that fits is measured on the test file with its best settings, or only the chosen one and popularity. */
  readonly measureAll: boolean;
  readonly cutOffs: readonly number[];
  readonly includeSeen: boolean;
  /** For choosing and fitting all models together. Making and measuring lists on the test file comes on top. */
  readonly secondsMax: number;
  readonly memoryMbMax: number;
  readonly budget: ServingBudget;
  readonly seed: number;
  readonly signal: AbortSignal;
  /** Seconds on a clock that never goes back. */
  readonly clock: () => number;
  readonly log: (line: string) => void;
};

/** What `--json` prints. The names are a contract. */
export type FileEvaluation = {
  readonly protocol: string;
  /** Lists measured: users with something to find in the test file, or prefixes of sessions. */
  readonly users: number;
  readonly items: number;
  readonly models: readonly ModelFigures[];
  /** Models that were asked for and have no figures, each with the reason. */
  readonly not_measured: readonly NotMeasured[];
  /** Users of the test file without train rows; present where a file of users' attributes was given. */
  readonly users_without_history?: FiguresWithoutHistory;
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

type NotMeasured = { readonly name: string; readonly reason: string };

/** The same lists of users without a history, ranked by popularity and by the users' attributes. */
type FiguresWithoutHistory = {
  readonly users: number;
  /** Whether the train file alone has shown that attributes help. */
  readonly served: boolean;
  readonly reason: string;
  readonly popularity: Readonly<Record<string, number>>;
  readonly attributes: Readonly<Record<string, number>>;
};

/** Fraction of the seconds for the choice when several methods are measured: the rest is for fitting the others. */
const CHOICE_FRACTION = 0.7;
/** Seconds that the fit of the chosen model may always take. */
const CHOSEN_SECONDS_MIN = 5;
/** How late the fit of the chosen model may be, as a fraction of all seconds. Later, the next best model is taken. */
const LATE_FRACTION = 0.1;
/** Bounds of the lists that each model is measured on. */
const LISTS_MIN = 20_000;
const LISTS_MAX = 200_000;

/**
 * Chooses and fits models on the train file alone and measures them on the test file: all items of both files are ranked, through the
 * exported ONNX and the ranking function of the edge.
 */
export async function evaluateFiles(data: TrainAndTest, options: EvaluateFilesOptions): Promise<FileEvaluation> {
  const { protocol, seed, log } = options;
  const begin = options.clock();
  // Users that only the test file names must not change what is counted or predicted by the number of users.
  const known = usersWithRows(data.train);
  const table = userValueTable(known.userAttributes);
  const userValues = table.valueCount === 0 ? undefined : table;
  const selection = await choose(known, { ...options, userValues });
  const { halfLifeDays } = selection;
  log(`chosen on a held-out part of the train file: ${textOf(selection.chosen)}`);
  const order = popularityOrder(data.train, halfLifeDays, seed);
  const train = reorderItems(data.train, order);
  const cases = casesOf(train, withItemOrder(data.test, order), options);
  for (const warning of testFileWarnings(data, cases, options)) log(`warning: ${warning}`);
  // More lists than this are sampled: measuring a model should take no longer than all the fitting may.
  const affordable = Math.floor(options.secondsMax / secondsPerList(train.itemCount));
  const listsMax = Math.min(LISTS_MAX, Math.max(LISTS_MIN, affordable));
  const positions = samplePositions(cases.count, listsMax, seededRandom(seed, 43));
  const choice = selection.userValues;
  const values = userValues && choice && servedValues(train, { table: userValues, choice, halfLifeDays });
  const test: TestPart = { train: usersWithRows(train), values, cases, positions };
  const first = await measureChosen(selection, test, { ...options, begin });
  const others = await measureOthers(selection, first, test, { ...options, begin });
  const withoutHistory = await figuresWithoutHistory(selection, first.served, test, options);
  return {
    protocol,
    users: positions.length,
    items: train.itemCount,
    models: [{ ...first.figures, chosen: true }, ...others.models],
    not_measured: [...first.notMeasured, ...others.notMeasured],
    ...(withoutHistory && { users_without_history: withoutHistory }),
  };
}

async function choose(
  dataset: Dataset,
  options: EvaluateFilesOptions & Pick<Parameters<typeof selectModel>[0], "userValues">,
): Promise<Selection> {
  const { cutOffs, log } = options;
  const hasOthers = options.measureAll && Object.keys(options.methods).length > 2; // beside popularity and the chosen one
  let lastName = "";
  const selection = await selectModel({
    ...options,
    secondsMax: (hasOthers ? CHOICE_FRACTION : 1) * options.secondsMax,
    dataset,
    metric: `ndcg@${Math.max(...cutOffs)}` as MetricAtK,
    progress: (fraction, detail) => {
      const [name = ""] = detail.split(":");
      if (name !== lastName) log(`${Math.round(100 * fraction)} % ${name}`);
      lastName = name;
    },
  });
  const { candidates, user_attributes: attributes, warnings } = selection.report;
  for (const { method, params, outcome, reason, fit_seconds } of candidates) {
    const seconds = fit_seconds === null ? "" : ` (fitted in ${fit_seconds.toFixed(1)} s)`;
    log(`${outcome}: ${textOf({ method, params })}${seconds}: ${reason}`);
  }
  if (attributes) log(attributes.reason);
  for (const warning of warnings) log(`warning: ${warning}`);
  return selection;
}

const textOf = ({ method, params }: Choice) => `${method} ${JSON.stringify(params)}`;

function casesOf(train: Dataset, test: Interactions, { protocol, includeSeen }: EvaluateFilesOptions): EvaluationCases {
  if (protocol === "sessions") return casesOfSessions(test);
  const positives = rowsWhere(test, (row) => test.positive[row] === 1);
  return casesOfSplit(train, positives, { includeSeen });
}

function withItemOrder(interactions: Interactions, order: Int32Array): Interactions {
  const newIndex = new Int32Array(order.length);
  for (const [to, from] of order.entries()) newIndex[from] = to;
  return { ...interactions, items: interactions.items.map((item) => newIndex[item]!) };
}

type TestPart = {
  readonly train: Dataset;
  readonly values: ServedValues | undefined;
  readonly cases: EvaluationCases;
  readonly positions: Uint32Array;
};

/** Options of a measurement; `begin` is when the choice began, by the clock. */
type MeasureOptions = EvaluateFilesOptions & { readonly begin: number };

/** Measures the chosen model; where it cannot be fitted again, the next best one that can. Popularity, the last, always can. */
async function measureChosen(selection: Selection, test: TestPart, options: MeasureOptions) {
  const notMeasured: NotMeasured[] = [];
  for (const choice of bestFirst(selection)) {
    const secondsMax = Math.max(CHOSEN_SECONDS_MIN, options.secondsMax - (options.clock() - options.begin));
    const secondsHard = secondsMax + LATE_FRACTION * options.secondsMax;
    const measured = await tryMeasure({ ...test, secondsMax, secondsHard, choice }, options);
    if (typeof measured !== "string") return { ...measured, choice, notMeasured };
    options.log(`${choice.method} failed: ${measured}: the next best is taken`);
    notMeasured.push({ name: choice.method, reason: measured });
  }
  throw new Error("Popularity cannot fail, and is among the choices.");
}

/** The chosen model first, then the best settings of each method, by their figures on the held-out part of the train file. */
const bestFirst = ({ chosen, families }: Selection): Choice[] => [
  chosen,
  ...families.filter((choice) => !isSameChoice(choice, chosen)),
];

type FirstMeasured = {
  readonly choice: Choice;
  readonly notMeasured: readonly NotMeasured[];
  readonly measuringSeconds: number;
};

/** Measures popularity and, where all are wanted, every other method, cheap ones first, in the seconds that are left. */
async function measureOthers(selection: Selection, first: FirstMeasured, test: TestPart, options: MeasureOptions) {
  const { methods, memoryMbMax, clock, begin, measureAll } = options;
  const { train } = test;
  const rest = measureAll ? untuned(selection, methods, train) : { choices: [], notMeasured: [] };
  const hasFailed = ({ method }: Choice) => first.notMeasured.some(({ name }) => name === method);
  const wanted = [...bestFirst(selection), ...rest.choices].filter(
    (choice) => choice !== first.choice && !hasFailed(choice) && (measureAll || choice.method === POPULARITY),
  );
  const costOf = ({ method, params }: Choice) => methodNamed(method, methods)?.cost(train, params);
  const secondsOf = (choice: Choice) => (choice.method === POPULARITY ? 0 : (costOf(choice)?.seconds ?? 0));
  const inTurn = wanted.toSorted((a, b) => secondsOf(a) - secondsOf(b));
  const notMeasured = [...rest.notMeasured];
  for (const { name, reason } of notMeasured) options.log(`not measured: ${name}: ${reason}`);
  const models = new Map<Choice, ModelFigures>();
  const memoryMb = Math.max(0, memoryMbMax - (2 * interactionBytes(train)) / 1e6);
  let { measuringSeconds } = first;
  for (const [c, choice] of inTurn.entries()) {
    const isBaseline = choice.method === POPULARITY;
    const left = options.secondsMax - (clock() - begin - measuringSeconds);
    const secondsLeft = isBaseline ? Math.max(CHOSEN_SECONDS_MIN, left) : left;
    const evenPart = isBaseline ? secondsLeft : secondsLeft / (inTurn.length - c);
    const secondsMax = Math.min(secondsLeft, Math.max(secondsOf(choice), evenPart));
    const time = { secondsMax, secondsHard: Math.min(secondsLeft, 2 * secondsMax) };
    const tooMuch = isBaseline ? undefined : whyTooMuch(costOf(choice), { secondsLeft, memoryMb });
    const measured = tooMuch ?? (await tryMeasure({ ...test, ...time, choice }, options));
    if (typeof measured === "string") {
      options.log(`not measured: ${choice.method}: ${measured}`);
      notMeasured.push({ name: choice.method, reason: measured });
    } else {
      measuringSeconds += measured.measuringSeconds;
      models.set(choice, { ...measured.figures, chosen: false });
    }
  }
  return { models: wanted.flatMap((choice) => models.get(choice) ?? []), notMeasured };
}

/**
 * The methods that the choice found no settings for, since there were too few cases or no time: each with its best guess. Methods that
 * failed in the choice are not tried again.
 */
function untuned({ families, report }: Selection, methods: EvaluateFilesOptions["methods"], train: Dataset) {
  const choices: Choice[] = [];
  const notMeasured: NotMeasured[] = [];
  for (const { name, grid } of Object.values(methods)) {
    if (families.some(({ method }) => method === name)) continue;
    const failed = report.candidates.find(({ method, outcome }) => method === name && outcome === "failed");
    const [params] = grid(train);
    const none = "it has no settings for data like these: they are too few, or have nothing that it needs";
    if (params && !failed) choices.push({ method: name, params });
    else notMeasured.push({ name, reason: failed?.reason ?? none });
  }
  return { choices, notMeasured };
}

/** Why a fit will not go into the seconds and the memory, by prediction; undefined when it will. */
function whyTooMuch(
  cost: { readonly seconds: number; readonly memoryMb: number } | undefined,
  { secondsLeft, memoryMb }: { readonly secondsLeft: number; readonly memoryMb: number },
): string | undefined {
  if (secondsLeft <= 0) return "no time was left for it";
  if (cost && cost.memoryMb > memoryMb)
    return `it needs about ${Math.round(cost.memoryMb)} MB to fit, and may use ${Math.round(memoryMb)} MB`;
  if (cost && cost.seconds > secondsLeft)
    return `it needs about ${Math.round(cost.seconds)} s to fit, and ${secondsLeft.toFixed(1)} s are left`;
  return undefined;
}

type Measurement = TestPart & {
  readonly choice: Choice;
  /** Seconds that the fit may take. */
  readonly secondsMax: number;
  /** Timeout of the fit in seconds. */
  readonly secondsHard: number;
};

/** The figures, or the reason why there are none. Popularity has figures, or it throws. */
async function tryMeasure(measurement: Measurement, options: EvaluateFilesOptions) {
  try {
    return await measure(measurement, options);
  } catch (error) {
    options.signal.throwIfAborted();
    if (measurement.choice.method === POPULARITY) throw error;
    return error instanceof Error ? error.message : String(error);
  }
}

async function measure(measurement: Measurement, options: EvaluateFilesOptions) {
  const { choice, train, values, cases, positions, secondsMax, secondsHard } = measurement;
  const method = methodNamed(choice.method, options.methods);
  if (!method) throw new Error(`There is no method ${JSON.stringify(choice.method)}.`);
  const peakMb = watchPeakMemory();
  const fitContext = { ...options, progress: () => undefined };
  const task = { data: train, secondsMax, secondsHard };
  const { fitted, seconds } = await fitCandidate({ method, params: choice.params }, task, fitContext);
  const served: Served = { exported: fitted.export(options.budget), historyMax: fitted.historyMax, values };
  options.log(
    `${choice.method}: fitted on the whole train file in ${seconds.toFixed(1)} s, ranking for ${positions.length}`,
  );
  const begin = options.clock();
  const evaluation = await evaluate(cases, served, { ...options, positions });
  const figures = {
    name: choice.method,
    params: choice.params,
    fit_seconds: seconds,
    peak_mb: peakMb(),
    artifact_bytes: bytesOf(served),
    truncation: served.exported.truncation,
    metrics: { ...meansOf(evaluation), ...coverageOf(evaluation, cases.itemCount) },
  };
  return { served, figures, measuringSeconds: options.clock() - begin };
}

const meansOf = ({ values }: Evaluation): Record<string, number> =>
  Object.fromEntries([...values].map(([name, all]) => [name, mean(all)]));

const coverageOf = (evaluation: Evaluation, itemCount: number) =>
  Object.fromEntries(
    evaluation.cutOffs.map((k) => [`coverage@${k}`, coverage(timesShown(evaluation, itemCount, k))] as const),
  );

/** Figures of the test users without train rows, with and without their attributes. Any served model does: none scores them. */
async function figuresWithoutHistory(
  { report }: Selection,
  served: Served,
  { cases, positions }: TestPart,
  options: EvaluateFilesOptions,
): Promise<FiguresWithoutHistory | undefined> {
  if (!report.user_attributes) return undefined;
  const without = positions.filter((at) => cases.caseAt(at).items.length === 0);
  const figuresOf = async (one: Served) => {
    const evaluation = await evaluate(cases, one, { ...options, positions: without });
    return without.length === 0 ? zeros(evaluation) : meansOf(evaluation);
  };
  const { served: isServed, reason } = report.user_attributes;
  const { values: _, ...plain } = served;
  const [popularity, attributes] = [await figuresOf(plain), await figuresOf(served)];
  return { users: without.length, served: isServed, reason, popularity, attributes };
}

const zeros = ({ values }: Evaluation) => Object.fromEntries([...values.keys()].map((name) => [name, 0]));
