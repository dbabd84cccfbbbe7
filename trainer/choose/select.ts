import type { EvaluationReport } from "../../shared/evaluation-report.ts";
import type { ItemColumns } from "../../shared/known-names.ts";
import { POPULARITY } from "../../shared/manifest.ts";
import type { RepeatOdds } from "../../shared/repeat-intervals.ts";
import { unknownMethod } from "../learn/blends.ts";
import type { Method, ServingBudget } from "../learn/model.ts";
import { samplePositions, seededRandom } from "../learn/numerics/seeded-random.ts";
import { countRecentChoices } from "../learn/statistics/recent-choices.ts";
import { repeatedFraction } from "../learn/statistics/valued-histories.ts";
import type { Dataset } from "../read/dataset/dataset.ts";
import { codesOfUsers, type UserValueTable } from "../read/dataset/user-value-table.ts";
import { dataForChoosing } from "./budget.ts";
import { chooseItemHours, type JudgedHours } from "./decide/choose-item-hours.ts";
import { chooseRepeatOdds, type JudgedOdds } from "./decide/choose-repeat-odds.ts";
import { decide, USERS_MIN } from "./decide/decide.ts";
import { cutOffOf, type MetricAtK, secondsPerList } from "./evaluate/evaluate.ts";
import { ownersOf } from "./evaluate/evaluation-cases.ts";
import { lift, restrictedTo } from "./evaluate/evaluation-figures.ts";
import type { Served, ServedValues } from "./evaluate/offline-snapshot.ts";
import { type EvaluationDetail, evaluationDetail } from "./report/evaluation-detail.ts";
import { buildReport, sizesOf } from "./report/report.ts";
import { encodeReplay } from "./scenarios/replay.ts";
import { type Protocol, planSplit, splitFingerprint } from "./splits/choose-split.ts";
import { type Validation, validationOf } from "./splits/validation.ts";
import { type Choice, choiceOf, isSameChoice } from "./tries/candidate.ts";
import { withColdPlaces } from "./tries/cold-places.ts";
import { type Discarded, dropped } from "./tries/discarded.ts";
import { tryBlend } from "./tries/find-blend.ts";
import { tryFirstGuesses } from "./tries/first-guesses.ts";
import { fittedParts } from "./tries/fitted-parts.ts";
import { onFurtherCases } from "./tries/further-cases.ts";
import { type SelectState, scaled } from "./tries/select-state.ts";
import { byMetric, meanOf, runTrial, type Trial, type TrialContext } from "./tries/trial.ts";
import { tune } from "./tries/tune.ts";
import {
  type ChosenUserValues,
  chooseUserValues,
  type UserValueChoice,
} from "./users-without-history/choose-user-values.ts";
import { refitUserValues, servedValues, withServedValues } from "./users-without-history/serve-user-values.ts";

export type SelectInput = {
  /** The order of its catalog does not matter: the selection orders items by what the training part knows. */
  readonly dataset: Dataset;
  /** Methods by name; `popularity` must be among them. */
  readonly methods: Readonly<Record<string, Method>>;
  readonly protocol: Protocol;
  /** Whether items that a user has seen, or that are in the session, may be shown again. */
  readonly includeSeen?: boolean;
  readonly cutOffs?: readonly number[];
  /** The metric that decides. Its cut-off is added to the cut-offs. */
  readonly metric?: MetricAtK;
  /** The fraction of the items that the first places of all lists should show, at the metric's cut-off. */
  readonly coverageMin?: number | undefined;
  /** Seconds for choosing. The final fit comes on top (budget.ts). */
  readonly secondsMax: number;
  /** Memory of the whole run, the dataset included. */
  readonly memoryMbMax: number;
  /** Names of methods that are not tried, because an earlier attempt exceeded its memory with them. */
  readonly tooLarge?: readonly string[] | undefined;
  readonly budget: ServingBudget;
  readonly seed: number;
  readonly signal: AbortSignal;
  /** Seconds on a clock that never goes back. */
  readonly clock: () => number;
  readonly threads?: TrialContext["threads"];
  /** `fraction` is 0…1 of the selection. */
  readonly progress: (fraction: number, detail: string) => void;
  readonly memoryMbFree?: TrialContext["memoryMbFree"];
  readonly onTry?: TrialContext["onTry"];
  /** Method and settings of the live version, which are tried like all others. */
  readonly live?: Choice | undefined;
  /** Attribute values that users share, to rank for users without a history. Absent: such users get the popular items. */
  readonly userValues?: UserValueTable | undefined;
};

export type Selection = {
  readonly chosen: Choice;
  /** The best settings of every method that could be tried, the best method first; popularity is among them. */
  readonly families: readonly Choice[];
  /** Half-life of popularity, which decides the order of the catalog: the answer for users without a history. */
  readonly halfLifeDays: number;
  /** The attribute values that rank for users without a history; undefined: none. */
  readonly userValues: UserValueChoice | undefined;
  /** How likely users choose again; undefined: lists with seen items are better by the model alone. */
  readonly repeatOdds: RepeatOdds | undefined;
  /** Whether lists are better where they know at which time of the day each item is chosen. */
  readonly knowsHours: boolean;
  readonly report: EvaluationReport;
  /** The lists behind the report's figures. They contain users as salted hashes. */
  readonly detail: EvaluationDetail;
  /** The file with which scenarios can be measured (scenarios/replay.ts). */
  readonly replay: (columns: ItemColumns) => Uint8Array;
};

export const CUT_OFFS = [5, 10, 20] as const;
const OBJECTIVE_DEFAULT = "ndcg@10";

/** Fraction of the memory in which fitted models are kept for blends. */
const KEPT_FRACTION = 1 / 3;

/**
 * Chooses the method and settings that rank this dataset best within a time budget. The best guesses of all methods are fitted first, then
 * further settings in the time that is left. Each candidate is evaluated as it would be served. Popularity wins unless a candidate is
 * reliably better. A very large dataset is represented by a sample of its users.
 */
export async function selectModel(whole: SelectInput): Promise<Selection> {
  const begin = whole.clock();
  const { warning, ...bounded } = dataForChoosing(whole.dataset, whole);
  const input = { ...whole, ...bounded };
  const metric = input.metric ?? OBJECTIVE_DEFAULT;
  const context = trialContext(input);
  const { validation, discarded, evaluatePopularity } = await tryPopularity(input, context, metric);
  const { methods, secondsMax } = input;
  const live = input.live && unknownMethod(input.live, methods) === undefined ? input.live : undefined;
  const parts = fittedParts(validation.train, context, KEPT_FRACTION * input.memoryMbMax);
  const state: SelectState = {
    ...{ methods, live, metric, validation, secondsMax, discarded },
    coverageMin: input.coverageMin ?? 0,
    positions: validation.firstPositions,
    context: { ...context, parts },
    secondsLeft: () => Math.max(0, secondsMax - (input.clock() - begin)),
    tried: [],
    tooLarge: input.tooLarge ?? [],
  };
  const hasUsers = ownersOf(validation.split.cases, validation.positions).size >= USERS_MIN;
  const positions = hasUsers ? await tryAll(state) : validation.positions;
  const baseline = await evaluatePopularity(positions);
  const finalists = state.tried;
  const comparedBaseline = { ...baseline, evaluation: restrictedTo(baseline.evaluation, positions) };
  const verdict = decide(finalists, comparedBaseline, {
    ...{ metric, interactions: validation.train.items.length, seed: input.seed },
    ...{ itemCount: validation.train.itemCount, coverageMin: input.coverageMin },
  });
  const halfLifeDays = baseline.params.halfLifeDays ?? 0;
  const byValues = await valuesFor(input, validation, halfLifeDays);
  const trial = verdict.chosen === undefined ? comparedBaseline : finalists[verdict.chosen]!;
  const { cutOffs, includeSeen, signal } = context;
  const serving = { cutOffs, includeSeen, signal, values: byValues?.choice && byValues.served };
  const chosen = await withServedValues(trial, validation, serving);
  const further = await judgeFurther(chosen.served, validation, { ...input, metric });
  const fingerprint = splitFingerprint(validation.dataset, validation.split);
  const lists = { chosen: chosen.evaluation, popularity: comparedBaseline.evaluation };
  const detail = evaluationDetail(validation, lists, fingerprint);
  const report = buildReport({
    ...{ detail, fingerprint },
    validation: { ...validation, positions },
    metric,
    baseline: comparedBaseline,
    baselineOnAll: baseline.evaluation,
    finalists,
    verdict,
    chosen,
    userAttributes: byValues?.report ?? null,
    discarded,
    live:
      live?.method === POPULARITY ? comparedBaseline : finalists.find((trial) => isSameChoice(choiceOf(trial), live)),
    seconds: { budget: input.secondsMax, used: input.clock() - begin },
    seed: input.seed,
    warnings: [...(warning ? [warning] : []), ...warningsOf(input, further, metric)],
  });
  input.progress(1, "chosen");
  const replay = (columns: ItemColumns) =>
    encodeReplay({
      ...{ ...columns, validation, positions, seed: input.seed },
      served: {
        ...{ ...trial.served, values: byValues?.served },
        recentChoices: countRecentChoices(validation.split.train),
      },
      userValues:
        input.userValues &&
        refitUserValues(validation.train, { table: input.userValues, choice: byValues?.choice, halfLifeDays }),
    });
  return {
    chosen: choiceOf(chosen),
    families: familiesOf([...finalists, baseline], discarded, metric),
    halfLifeDays,
    userValues: byValues?.choice,
    ...{ repeatOdds: further.odds?.odds, knowsHours: further.hours !== undefined },
    report: { ...report, data: sizesOf(whole.dataset) },
    detail,
    replay,
  };
}

/** What lists know besides the model's scores, where that makes them better. */
type Further = { readonly odds: JudgedOdds | undefined; readonly hours: JudgedHours | undefined };

async function judgeFurther(
  served: Served,
  validation: Validation,
  options: SelectInput & { readonly metric: MetricAtK },
): Promise<Further> {
  return {
    odds: await chooseRepeatOdds(served, validation, options),
    hours: await chooseItemHours(served, validation, options),
  };
}

/** Tries candidates in all steps. Returns the cases that the remaining trials are evaluated on. */
async function tryAll(state: SelectState): Promise<Uint32Array> {
  const { firstPositions, earlyPositions, positions } = state.validation;
  const step = (from: number, to: number) => ({ ...state, context: scaled(state.context, from / STEPS, to / STEPS) });
  const methods = await withColdPlaces(step(1, 1));
  const at = (positions: Uint32Array, from: number, to: number) => ({ ...step(from, to), methods, positions });
  await tryFirstGuesses(at(firstPositions, 1, 6));
  const early = await onFurtherCases(at(firstPositions, 6, 7), earlyPositions);
  await tune(at(early, 7, 8));
  await tryBlend(at(early, 8, 9));
  return await onFurtherCases(at(early, 9, STEPS), positions);
}

/** Tenths of the progress: one for popularity, five for first guesses, one for every other step. */
const STEPS = 10;

/** Learns and evaluates attribute values within the training part, so that nothing of the validation part is known. */
async function valuesFor(
  { userValues: table, seed, signal, progress }: SelectInput,
  { train }: Validation,
  halfLifeDays: number,
): Promise<(ChosenUserValues & { readonly served: ServedValues | undefined }) | undefined> {
  if (table === undefined) return undefined;
  const codes = codesOfUsers(table, train.userAttributes, train.userCount);
  const report = () => progress(1, "attributes of users without a history");
  const chosen = await chooseUserValues({ train, codes, table, halfLifeDays, seed, signal, progress: report });
  const { choice } = chosen;
  return { ...chosen, served: servedValues(train, { table, choice, halfLifeDays }) };
}

/** Fraction of the budget for comparing half-lives of popularity. */
const HALF_LIVES_FRACTION = 0.05;

/**
 * Tries popularity first: its half-life decides the catalog order under which all other methods are evaluated. Its lists for the final
 * figures are made at the end, when it is known how many cases those have.
 */
async function tryPopularity(input: SelectInput, context: TrialContext, metric: MetricAtK) {
  const { dataset, methods, protocol, seed, secondsMax, includeSeen = false } = input;
  const method = methods[POPULARITY];
  if (!method) throw new Error("The table of methods must have popularity: it is what others are compared with.");
  const plan = planSplit(dataset, { protocol, seed, includeSeen });
  const task = { trainFraction: 1, secondsMax, secondsHard: secondsMax };
  const plain = validationOf(dataset, plan, { halfLifeDays: 0, seed, secondsMax });
  const grid = method.grid(plain.train);
  const part = (i: number) => scaled(scaled(context, 0, 1 / STEPS), i / grid.length, (i + 1) / grid.length);
  const { cases } = plain.split;
  const affordable = Math.floor((HALF_LIVES_FRACTION * secondsMax) / (grid.length * secondsPerList(dataset.itemCount)));
  const { earlyPositions, firstPositions } = plain;
  const count = Math.max(firstPositions.length, affordable);
  const compared = samplePositions(earlyPositions.length, count, seededRandom(seed, 79)).map((i) => earlyPositions[i]!);
  const trials: Trial[] = [];
  for (const [i, params] of grid.entries())
    trials.push(
      await runTrial({ method, params }, { ...task, data: plain.train, cases, positions: compared }, part(i)),
    );
  trials.sort(byMetric(metric));
  const best = reliablyBest(trials, grid[0]!, { metric, seed });
  const discarded: Discarded[] = trials.filter((trial) => trial !== best).map((trial) => dropped(trial, best, metric));
  const { params } = best;
  const validation = validationOf(dataset, plan, { halfLifeDays: params.halfLifeDays ?? 0, seed, secondsMax });
  /** The lists of the given cases, and of those that the half-lives were compared on. */
  const evaluatePopularity = async (given: Uint32Array): Promise<Trial> => {
    const positions = Uint32Array.from(new Set([...given, ...compared])).sort();
    const whole = { ...task, data: validation.train, cases: validation.split.cases, positions };
    return await runTrial({ method, params }, whole, scaled(context, 1, 1));
  };
  return { validation, discarded, evaluatePopularity };
}

/**
 * The best trial if its paired 99.9 % interval over the plain setting is above 0, otherwise the plain trial. On few choices the best of
 * several half-lives is only the luckiest, and it would decide the lists of all users without a history.
 */
function reliablyBest(
  trials: readonly Trial[],
  plain: Trial["params"],
  { metric, seed }: { readonly metric: MetricAtK; readonly seed: number },
): Trial {
  const best = trials[0]!;
  const usual = trials.find(({ params }) => params === plain)!;
  if (best === usual) return best;
  return lift(best.evaluation, usual.evaluation, { metric, seed, confidence: 0.999 }).low > 0 ? best : usual;
}

/** The best settings of each method, the best method first. Most methods were dropped after the first lists. */
function familiesOf(trials: readonly Trial[], discarded: readonly Discarded[], metric: MetricAtK): Choice[] {
  const kept = trials.map((trial) => ({ ...choiceOf(trial), evaluation: trial.evaluation }));
  const others = discarded.flatMap((one) =>
    one.evaluation && one.trainFraction === 1 && !kept.some(({ method }) => method === one.method)
      ? [{ ...one, evaluation: one.evaluation }]
      : [],
  );
  const sorted = [...kept, ...others].sort((a, b) => meanOf(b.evaluation, metric) - meanOf(a.evaluation, metric));
  const first = sorted.filter(({ method }, i) => sorted.findIndex((other) => other.method === method) === i);
  return first.map(({ method, params }) => ({ method, params }));
}

function trialContext(input: SelectInput): TrialContext {
  const { budget, memoryMbMax, memoryMbFree, onTry, seed, signal, clock, threads, progress } = input;
  const { metric = OBJECTIVE_DEFAULT, cutOffs = CUT_OFFS, includeSeen = false } = input;
  const all = [...new Set([...cutOffs, cutOffOf(metric)])].sort((a, b) => a - b);
  const limits = { budget, memoryMbMax, memoryMbFree, signal, clock, threads };
  return { ...limits, onTry, seed, progress, includeSeen, cutOffs: all };
}

/** From this part on, choices of items that were chosen before deserve a list of their own. */
const REPEATED_MANY = 0.2;

function warningsOf(
  { live, methods, dataset, includeSeen }: SelectInput,
  { odds, hours }: Further,
  metric: MetricAtK,
): string[] {
  const warnings: string[] = [];
  const unknown = live && unknownMethod(live, methods);
  if (unknown !== undefined) {
    const whole = unknown === live!.method ? "" : `, a part of its ${live!.method},`;
    warnings.push(
      `The live version's method ${JSON.stringify(unknown)}${whole} is not known any more, so it was not compared.`,
    );
  }
  const repeated = includeSeen ? 0 : repeatedFraction(dataset);
  if (repeated >= REPEATED_MANY) {
    const part = `${Math.round(100 * repeated)} % of the choices are of items that the user had chosen before`;
    warnings.push(`${part}. These lists leave them out, and lists with seen: "only" consist of them.`);
  }
  if (odds) {
    const [joined, plain] = [odds.joined.toFixed(3), odds.plain.toFixed(3)];
    const figures = `${metric} ${joined}, and ${plain} by the model's scores alone`;
    warnings.push(
      `Lists with seen: "include" place what the user has chosen before by the odds of a repeated choice: ${figures}.`,
    );
  }
  if (hours) {
    const figures = `${metric} ${hours.atThisHour.toFixed(3)}, and ${hours.plain.toFixed(3)} by the model's scores alone`;
    const needs = "Times without a zone must be UTC for this, since an edge compares them with its own clock";
    warnings.push(`Lists know at which time of the day items are chosen: ${figures}. ${needs}.`);
  }
  return warnings;
}
