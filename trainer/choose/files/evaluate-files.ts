import { POPULARITY } from "../../../shared/manifest.ts";
import { openRepeats, type RepeatIntervals, type RepeatOdds } from "../../../shared/repeat-intervals.ts";
import { methodNamed } from "../../learn/blends.ts";
import type { Cost, Method, ServingBudget } from "../../learn/model.ts";
import { samplePositions, seededRandom } from "../../learn/numerics/seeded-random.ts";
import { itemHours } from "../../learn/statistics/item-hours.ts";
import { repeatIntervals } from "../../learn/statistics/repeat-intervals.ts";
import type { Dataset } from "../../read/dataset/dataset.ts";
import { reorderItems } from "../../read/dataset/reorder-items.ts";
import { rowsWhere } from "../../read/dataset/split.ts";
import { type UserValueTable, userValueTable } from "../../read/dataset/user-value-table.ts";
import { FINAL_FIT_FRACTION } from "../budget.ts";
import { mean } from "../evaluate/bootstrap.ts";
import { type Evaluation, evaluate, type MetricAtK, secondsPerList, timesShown } from "../evaluate/evaluate.ts";
import { casesOfSessions, casesOfSplit, type EvaluationCases } from "../evaluate/evaluation-cases.ts";
import { restrictedTo } from "../evaluate/evaluation-figures.ts";
import { coverage } from "../evaluate/metrics.ts";
import type { Served, ServedValues } from "../evaluate/offline-snapshot.ts";
import type { ScenarioResult } from "../scenarios/scenario-text.ts";
import { type Selection, selectModel } from "../select.ts";
import type { Protocol } from "../splits/choose-split.ts";
import { interactionBytes, usersWithRows } from "../splits/sample-users.ts";
import { popularityOrder } from "../splits/validation.ts";
import { type Choice, isSameChoice } from "../tries/candidate.ts";
import { bytesOf, type FitTask, fitCandidate } from "../tries/trial.ts";
import { servedValues } from "../users-without-history/serve-user-values.ts";
import { watchPeakMemory } from "./peak-memory.ts";
import type { TrainAndTest } from "./read-files.ts";
import { type FileScenario, scenarioOnFiles } from "./scenario-on-files.ts";
import { testFileWarnings } from "./test-file-warnings.ts";

export type EvaluateFilesOptions = {
  readonly protocol: Exclude<Protocol, "service" | "live">;
  /** Methods to choose from; popularity is always tried, as the baseline. */
  readonly methods: Readonly<Record<string, Method>>;
  /** Whether every method that fits is measured on the test file with its best settings, or only the chosen one and popularity. */
  readonly measureAll: boolean;
  readonly cutOffs: readonly number[];
  readonly includeSeen: boolean;
  /** Seconds for the choice and the fits of all models. Making and measuring lists on the test file takes further time. */
  readonly secondsMax: number;
  readonly memoryMbMax: number;
  readonly budget: ServingBudget;
  readonly seed: number;
  /** Rules for the chosen model's lists, whose effect is measured too. */
  readonly scenario?: FileScenario | undefined;
  readonly signal: AbortSignal;
  /** Seconds on a clock that never goes back. */
  readonly clock: () => number;
  readonly log: (line: string) => void;
  /** Gets a line when another method is tried. Absent: `log`. */
  readonly showProgress?: (line: string) => void;
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
  /** What the given scenario changes. */
  readonly scenario?: ScenarioResult;
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

/** Fraction of the seconds for the choice. The rest is for the fit of the chosen model and, if they are wanted, of the others. */
const CHOICE_FRACTION = 1 / (1 + FINAL_FIT_FRACTION);
/** Seconds that the fit of the chosen model, and of popularity, may always take. */
const SECONDS_MIN = 5;
/** The fit of the chosen model may exceed all seconds by this fraction. If it takes longer, the next best model is used. */
const LATE_FRACTION = 0.1;
/** Bounds of the lists that each model is measured on. */
const LISTS_MIN = 20_000;
const LISTS_MAX = 200_000;

/**
 * Chooses and fits models on the train file alone and measures them on the test file: all items of both files are ranked, through the
 * exported ONNX and the ranking function of the edge.
 */
export async function evaluateFiles(data: TrainAndTest, options: EvaluateFilesOptions): Promise<FileEvaluation> {
  const begin = options.clock();
  // Users that only the test file names must not change what is counted or predicted by the number of users.
  const known = usersWithRows(data.train);
  const table = userValueTable(known.userAttributes);
  const userValues = table.valueCount === 0 ? undefined : table;
  const selection = await choose(known, { ...options, userValues });
  options.log(`chosen on a held-out part of the train file: ${textOf(selection.chosen)}`);
  const test = testPart(data, selection, { ...options, userValues });
  for (const warning of testFileWarnings(data, test.cases, options)) options.log(`warning: ${warning}`);
  const { chosen, others, notMeasured } = await measureModels(selection, test, { ...options, begin });
  const withoutHistory = await figuresWithoutHistory(selection, chosen, test, options);
  const { scenario } = options;
  const tested = { ...test, served: chosen.served };
  const byScenario = scenario && (await scenarioOnFiles(scenario, tested, options));
  return {
    protocol: options.protocol,
    users: test.positions.length,
    items: test.train.itemCount,
    models: [{ ...chosen.figures, chosen: true }, ...others],
    not_measured: notMeasured,
    ...(withoutHistory && { users_without_history: withoutHistory }),
    ...(byScenario && { scenario: byScenario }),
  };
}

type WithValues = EvaluateFilesOptions & { readonly userValues: UserValueTable | undefined };

async function choose(dataset: Dataset, options: WithValues): Promise<Selection> {
  const { cutOffs, log, showProgress = log } = options;
  let lastName = "";
  const selection = await selectModel({
    ...options,
    includeSeen: options.includeSeen || options.protocol === "sessions", // as in published figures of sessions
    secondsMax: CHOICE_FRACTION * options.secondsMax,
    dataset,
    metric: `ndcg@${Math.max(...cutOffs)}` as MetricAtK,
    progress: (fraction, detail) => {
      const [name = ""] = detail.split(":");
      if (name !== lastName) showProgress(`${Math.round(100 * fraction)} % ${name}`);
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

type TestPart = {
  readonly train: Dataset;
  readonly values: ServedValues | undefined;
  readonly cases: EvaluationCases;
  readonly positions: Uint32Array;
};

function testPart({ train: unordered, test: unorderedTest }: TrainAndTest, selection: Selection, options: WithValues) {
  const { seed, protocol, includeSeen, secondsMax, userValues } = options;
  const { halfLifeDays, userValues: choice, repeatOdds: odds, knowsHours } = selection;
  const order = popularityOrder(unordered, halfLifeDays, seed);
  const train = reorderItems(unordered, order);
  const newIndex = new Int32Array(order.length);
  for (const [to, from] of order.entries()) newIndex[from] = to;
  const test = { ...unorderedTest, items: unorderedTest.items.map((item) => newIndex[item]!) };
  const positives = rowsWhere(test, (row) => test.positive[row] === 1);
  const cases =
    protocol === "sessions"
      ? casesOfSessions(test, { repeats: true })
      : {
          ...casesOfSplit(train, positives, { includeSeen }),
          repeats: odds && repeatsIn(train, odds),
          hours: knowsHours ? itemHours(train) : undefined,
        };
  // More lists than this are sampled: measuring a model should take no longer than all the fitting may.
  const affordable = Math.floor(secondsMax / secondsPerList(train.itemCount));
  const listsMax = Math.min(LISTS_MAX, Math.max(LISTS_MIN, affordable));
  const positions = samplePositions(cases.count, listsMax, seededRandom(seed, 43));
  const values = userValues && servedValues(train, { table: userValues, choice, halfLifeDays });
  return { train: usersWithRows(train), values, cases, positions };
}

function repeatsIn(train: Dataset, odds: RepeatOdds): RepeatIntervals | undefined {
  const table = repeatIntervals(train);
  return table && openRepeats({ ...table, odds });
}

/**
 * Measures the chosen model, or where it cannot be fitted again the next best one that can; then popularity and, where all are wanted,
 * every other method, the cheapest first, in the seconds that are left.
 */
async function measureModels(
  selection: Selection,
  test: TestPart,
  options: EvaluateFilesOptions & { readonly begin: number },
) {
  const { methods, secondsMax, measureAll, clock, begin, log, signal } = options;
  const notMeasured: NotMeasured[] = [];
  let measuringSeconds = 0;
  const secondsLeft = () => secondsMax - (clock() - begin - measuringSeconds);
  const tryMeasure = async (choice: Choice, time: FitTime): Promise<Measured | undefined> => {
    try {
      const measured = await measure(choice, { ...test, ...time }, options);
      measuringSeconds += measured.seconds;
      return measured;
    } catch (error) {
      signal.throwIfAborted();
      if (choice.method === POPULARITY) throw error;
      const reason = error instanceof Error ? error.message : String(error);
      log(`not measured: ${choice.method}: ${reason}`);
      notMeasured.push({ name: choice.method, reason });
      return undefined;
    }
  };

  const waiting = [selection.chosen, ...selection.families.filter((one) => !isSameChoice(one, selection.chosen))];
  let chosen: Measured | undefined;
  while (!chosen) {
    const secondsOfFit = Math.max(SECONDS_MIN, secondsLeft());
    const secondsHard = secondsOfFit + LATE_FRACTION * secondsMax;
    chosen = await tryMeasure(waiting.shift()!, { secondsMax: secondsOfFit, secondsHard }); // popularity cannot fail
  }
  if (measureAll) waiting.push(...untuned(selection, methods, test.train, notMeasured));
  const costOf = ({ method, params }: Choice) => methodNamed(method, methods)!.cost(test.train, params);
  const order = (choice: Choice) => (choice.method === POPULARITY ? 0 : costOf(choice).seconds);
  const inTurn = waiting
    .filter(({ method }) => measureAll || method === POPULARITY)
    .sort((a, b) => order(a) - order(b));
  const models: ModelFigures[] = [];
  const memoryMb = Math.max(0, options.memoryMbMax - (2 * interactionBytes(test.train)) / 1e6);
  for (const [c, choice] of inTurn.entries()) {
    const isBaseline = choice.method === POPULARITY;
    const left = isBaseline ? Math.max(SECONDS_MIN, secondsLeft()) : secondsLeft();
    const tooMuch = isBaseline ? undefined : whyTooMuch(costOf(choice), left, memoryMb);
    if (tooMuch) {
      log(`not measured: ${choice.method}: ${tooMuch}`);
      notMeasured.push({ name: choice.method, reason: tooMuch });
      continue;
    }
    const evenPart = left / (inTurn.length - c);
    const time = { secondsMax: Math.min(left, Math.max(order(choice), evenPart)), secondsHard: left };
    const measured = await tryMeasure(choice, time);
    if (measured) models.push({ ...measured.figures, chosen: false });
  }
  return { chosen, others: models, notMeasured };
}

/**
 * The methods that the choice found no settings for, since there were too few cases or no time: each with its best guess. Methods that
 * failed in the choice are not tried again.
 */
function untuned(
  { families, report }: Selection,
  methods: EvaluateFilesOptions["methods"],
  train: Dataset,
  notMeasured: NotMeasured[],
): Choice[] {
  const rest = Object.values(methods).filter(({ name }) => !families.some(({ method }) => method === name));
  return rest.flatMap(({ name, grid }) => {
    const failed = report.candidates.find(({ method, outcome }) => method === name && outcome === "failed");
    const [params] = grid(train);
    if (params && !failed) return [{ method: name, params }];
    const none = "it has no settings for data like these: they are too few, or have nothing that it needs";
    notMeasured.push({ name, reason: failed?.reason ?? none });
    return [];
  });
}

/** Why a fit will not go into the seconds and the memory, by prediction; undefined when it will. */
function whyTooMuch(cost: Cost, secondsLeft: number, memoryMbMax: number): string | undefined {
  const { seconds, memoryMb } = cost;
  if (secondsLeft <= 0) return "no time was left for it";
  if (memoryMb > memoryMbMax)
    return `it needs about ${Math.round(memoryMb)} MB to fit, and may use ${Math.round(memoryMbMax)} MB`;
  if (seconds <= secondsLeft) return undefined;
  return `it needs about ${Math.round(seconds)} s to fit, and ${secondsLeft.toFixed(1)} s are left`;
}

type FitTime = Pick<FitTask, "secondsMax" | "secondsHard">;
type Measured = {
  readonly served: Served;
  readonly evaluation: Evaluation;
  readonly figures: Omit<ModelFigures, "chosen">;
  /** Seconds of making the lists. */
  readonly seconds: number;
};

async function measure(choice: Choice, test: TestPart & FitTime, options: EvaluateFilesOptions): Promise<Measured> {
  const { train, values, cases, positions, secondsMax, secondsHard } = test;
  const method = methodNamed(choice.method, options.methods)!;
  const peakMb = watchPeakMemory();
  const task = { data: train, secondsMax, secondsHard };
  const fit = await fitCandidate({ method, params: choice.params }, task, { ...options, progress: () => undefined });
  const { fitted, seconds } = fit;
  const served: Served = { exported: fitted.export(options.budget), historyMax: fitted.historyMax, values };
  const lists = `ranking for ${positions.length}`;
  options.log(`${choice.method}: fitted on the whole train file in ${seconds.toFixed(1)} s, ${lists}`);
  const begin = options.clock();
  const evaluation = await evaluate(cases, served, { ...options, positions });
  const coverages = evaluation.cutOffs.map((k) => {
    return [`coverage@${k}`, coverage(timesShown(evaluation, cases.itemCount, k))] as const;
  });
  const figures = {
    name: choice.method,
    params: choice.params,
    fit_seconds: seconds,
    peak_mb: peakMb(),
    artifact_bytes: bytesOf(served),
    truncation: served.exported.truncation,
    metrics: { ...meansOf(evaluation), ...Object.fromEntries(coverages) },
  };
  return { served, evaluation, figures, seconds: options.clock() - begin };
}

const meansOf = ({ values }: Evaluation): Record<string, number> =>
  Object.fromEntries([...values].map(([name, all]) => [name, mean(all)]));

/** Figures of the test users without train rows, with and without their attributes. Any served model does: none scores them. */
async function figuresWithoutHistory(
  { report: { user_attributes: attributes } }: Selection,
  { served, evaluation }: Measured,
  { cases, positions }: TestPart,
  options: EvaluateFilesOptions,
): Promise<FiguresWithoutHistory | undefined> {
  if (!attributes) return undefined;
  const without = positions.filter((at) => cases.caseAt(at).items.length === 0);
  const plain = await evaluate(cases, { ...served, values: undefined }, { ...options, positions: without });
  const figuresOf = (own: Evaluation) =>
    Object.fromEntries(Object.entries(meansOf(own)).map(([name, value]) => [name, value || 0])); // 0 without such users
  return {
    users: without.length,
    served: attributes.served,
    reason: attributes.reason,
    popularity: figuresOf(plain),
    attributes: figuresOf(restrictedTo(evaluation, without)),
  };
}
