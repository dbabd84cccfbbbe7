import type { EvaluationReport } from "../../shared/evaluation-report.ts";
import type { Dataset } from "../dataset/dataset.ts";
import type { Method, Params, ServingBudget } from "../models/model.ts";
import { type Protocol, planSplit } from "./choose-split.ts";
import { decide, USERS_MIN } from "./decide.ts";
import { evaluate, type MetricAtK } from "./evaluate.ts";
import { joined } from "./judged.ts";
import { buildReport } from "./report.ts";
import { meanOf, runTrial, type Trial, type TrialMeans } from "./trial.ts";
import { type Discarded, type Tuned, tuneMethod } from "./tune-method.ts";
import { type Validation, validationOf } from "./validation.ts";

/** A method with its settings: what can be fitted again on other data. */
export type Choice = { readonly method: string; readonly params: Params };

export type SelectInput = {
  /** Catalog in any order: the selection makes its own, from what may be known. */
  readonly dataset: Dataset;
  /** By name; must have `popularity`. */
  readonly methods: Readonly<Record<string, Method>>;
  readonly protocol: Protocol;
  readonly includeSeen?: boolean;
  readonly cutOffs?: readonly number[];
  /** Which metric chooses; it must be at one of the cut-offs. */
  readonly metric?: MetricAtK;
  /** For choosing and for the refit that follows. */
  readonly secondsMax: number;
  readonly memoryMbMax: number;
  readonly budget: ServingBudget;
  readonly seed: number;
  readonly signal: AbortSignal;
  /** Seconds on a clock that never goes back. */
  readonly clock: () => number;
  /** `share` 0…1 of the selection. */
  readonly progress: (share: number, detail: string) => void;
  /** What the live version is: tried as well, on the same footing. */
  readonly live?: Choice | undefined;
};

export type Selection = {
  readonly chosen: Choice;
  /** The best settings of every method that could be tried, the best first; popularity among them. */
  readonly families: readonly Choice[];
  /** Decides the order of the catalog, which is the answer for users without a history. */
  readonly halfLifeDays: number;
  readonly report: EvaluationReport;
};

export const CUT_OFFS = [5, 10, 20] as const;
const POPULARITY = "popularity";
const FINALISTS_PER_METHOD = 2;
/** In the last round only what is this near to the best of the early one, and the live version's method. */
const NEAR_THE_BEST = 0.9;

/**
 * The method and settings that rank this dataset best, by honest evaluation within a time budget: cheap methods first, settings by
 * successive halving, each judged as it would be served, popularity when nothing is reliably better.
 */
export async function selectModel(input: SelectInput): Promise<Selection> {
  const begin = input.clock();
  const metric = input.metric ?? "ndcg@10";
  const means = trialMeans(input);
  const { validation, baseline, discarded } = await judgePopularity(input, means, metric);
  const state: State = { input, means, metric, validation, baseline, begin, discarded: [...discarded] };

  const tried = validation.positions.length < USERS_MIN ? [] : await tryMethods(state);
  const finalists = await lastRound(state, tried);
  const interactions = validation.train.items.length;
  const verdict = decide(finalists, baseline, { metric, interactions, seed: input.seed });
  const report = buildReport({
    validation,
    metric,
    baseline,
    finalists,
    verdict,
    discarded: state.discarded,
    live: input.live?.method === POPULARITY ? baseline : finalists.find((trial) => isSame(choiceOf(trial), input.live)),
    seconds: { budget: input.secondsMax, used: input.clock() - begin },
    seed: input.seed,
    warnings: warningsOf(input),
  });
  input.progress(1, "chosen");
  const chosen = verdict.chosen === undefined ? baseline : finalists[verdict.chosen]!;
  return {
    chosen: choiceOf(chosen),
    families: familiesOf([...tried, baseline], metric),
    halfLifeDays: baseline.params.halfLifeDays ?? 0,
    report,
  };
}

type State = {
  readonly input: SelectInput;
  readonly means: TrialMeans;
  readonly metric: MetricAtK;
  readonly validation: Validation;
  readonly baseline: Trial;
  readonly begin: number;
  readonly discarded: Discarded[];
};

/** Popularity first: its half-life decides the catalog order that all others are judged under. */
async function judgePopularity(input: SelectInput, means: TrialMeans, metric: MetricAtK) {
  const { dataset, methods, protocol, seed, includeSeen = false } = input;
  const method = methods[POPULARITY];
  if (!method) throw new Error("The table of methods must have popularity: it is what others are compared with.");
  const plan = planSplit(dataset, { protocol, seed, includeSeen });
  const plain = validationOf(dataset, plan, 0, seed);
  const grid = method.grid(plain.train);
  const { split, train, earlyPositions: positions } = plain;
  const task = { method, grid, data: train, cases: split.cases, positions, metric, keepMax: 1 };
  const tuned = await tuneMethod({ ...task, secondsMax: input.secondsMax / 4 }, scaled(means, 0, 0.1));
  const params = tuned.finalists[0]?.params ?? grid[0]!;
  const validation = validationOf(dataset, plan, params.halfLifeDays ?? 0, seed);
  const baseline = await runTrial(
    { method, params },
    wholeTask(validation, input.secondsMax),
    scaled(means, 0.1, 0.15),
  );
  return { validation, baseline, discarded: tuned.discarded };
}

const wholeTask = ({ train, split, positions }: Validation, secondsMax: number) => ({
  data: train,
  cases: split.cases,
  positions,
  trainShare: 1,
  secondsMax,
  secondsHard: 2 * secondsMax,
});

/** The best settings of every method but popularity, judged on the early cases; the live version's too. */
async function tryMethods(state: State): Promise<Trial[]> {
  const { input, means, metric, validation, discarded } = state;
  const { train, split, earlyPositions: positions } = validation;
  const secondsOf = (method: Method) => method.cost(train, method.grid(train)[0] ?? {}).seconds;
  const methods = Object.values(input.methods)
    .filter(({ name }) => name !== POPULARITY)
    .sort((a, b) => secondsOf(a) - secondsOf(b));
  const tried = await tryLive(state);
  for (const [m, method] of methods.entries()) {
    const left = input.secondsMax - (input.clock() - state.begin);
    // Half of what is left is kept for the refit: whatever is chosen is fitted once more.
    const secondsMax = Math.max(0, Math.min(left / 2, left / (methods.length - m)));
    const grid = method.grid(train).filter((params) => !isSame({ method: method.name, params }, input.live));
    const progress = scaled(means, 0.2 + (0.65 * m) / methods.length, 0.2 + (0.65 * (m + 1)) / methods.length);
    const task = { method, grid, data: train, cases: split.cases, positions, metric, secondsMax };
    const tuned: Tuned = await tuneMethod({ ...task, keepMax: FINALISTS_PER_METHOD }, progress);
    tried.push(...tuned.finalists);
    discarded.push(...tuned.discarded);
  }
  return tried.sort((a, b) => meanOf(b.evaluation, metric) - meanOf(a.evaluation, metric));
}

/** The live version's method with its settings, which no other setting can push out. */
async function tryLive({ input, means, metric, validation, discarded }: State): Promise<Trial[]> {
  const method = input.live && input.methods[input.live.method];
  if (!input.live || !method || method.name === POPULARITY) return [];
  const { train, split, earlyPositions: positions } = validation;
  const task = { method, grid: [input.live.params], data: train, cases: split.cases, positions, metric, keepMax: 1 };
  const tuned = await tuneMethod({ ...task, secondsMax: input.secondsMax / 3 }, scaled(means, 0.15, 0.2));
  discarded.push(...tuned.discarded);
  return [...tuned.finalists];
}

/** The candidates near the best of the early round, judged on all cases. The others' early figures stand. */
async function lastRound(
  { input, means, metric, validation, discarded }: State,
  tried: readonly Trial[],
): Promise<Trial[]> {
  const early = new Set(validation.earlyPositions);
  const rest = validation.positions.filter((at) => !early.has(at));
  const best = tried[0] ? meanOf(tried[0].evaluation, metric) : 0;
  const finalists: Trial[] = [];
  for (const [i, trial] of tried.entries()) {
    const isLive = isSame(choiceOf(trial), input.live);
    if (rest.length === 0 || isLive || meanOf(trial.evaluation, metric) >= NEAR_THE_BEST * best) {
      const progress = scaled(means, 0.85 + (0.15 * i) / tried.length, 0.85 + (0.15 * (i + 1)) / tried.length);
      finalists.push(rest.length === 0 ? trial : await judgedOnAll(trial, { validation, rest, means: progress }));
      continue;
    }
    const reason = `${metric} ${meanOf(trial.evaluation, metric).toFixed(4)} on the first ${early.size} users, and ${best.toFixed(4)} with ${tried[0]!.method.name}`;
    discarded.push({ ...discardedFrom(trial), reason });
  }
  return finalists;
}

type RestOfCases = { readonly validation: Validation; readonly rest: Uint32Array; readonly means: TrialMeans };

async function judgedOnAll(trial: Trial, { validation, rest, means }: RestOfCases): Promise<Trial> {
  const evaluation = await evaluate(validation.split.cases, trial.served, {
    cutOffs: means.cutOffs,
    includeSeen: means.includeSeen,
    signal: means.signal,
    positions: rest,
    progress: (share) => means.progress(share, `${trial.method.name}: ranking for ${rest.length} further users`),
  });
  return { ...trial, evaluation: joined(trial.evaluation, evaluation) };
}

function discardedFrom(trial: Trial): Omit<Discarded, "reason"> {
  return {
    method: trial.method.name,
    params: trial.params,
    outcome: "dropped",
    trainShare: trial.trainShare,
    evaluation: trial.evaluation,
    fitSeconds: trial.fitSeconds,
    artifactBytes: trial.artifactBytes,
    truncation: trial.served.exported.truncation,
  };
}

/** The best of each method. `trials` are the best first but for the baseline. */
function familiesOf(trials: readonly Trial[], metric: MetricAtK): Choice[] {
  const sorted = trials.toSorted((a, b) => meanOf(b.evaluation, metric) - meanOf(a.evaluation, metric));
  const first = sorted.filter(({ method }, i) => sorted.findIndex((other) => other.method === method) === i);
  return first.map(choiceOf);
}

const choiceOf = ({ method, params }: Trial): Choice => ({ method: method.name, params });

const isSame = (choice: Choice, other: Choice | undefined) =>
  other !== undefined && choice.method === other.method && isSameParams(choice.params, other.params);

function isSameParams(a: Params, b: Params): boolean {
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...names].every((name) => a[name] === b[name]);
}

function trialMeans(input: SelectInput): TrialMeans {
  const { budget, memoryMbMax, seed, signal, clock, progress, includeSeen = false, cutOffs = CUT_OFFS } = input;
  return { budget, memoryMbMax, seed, signal, clock, progress, includeSeen, cutOffs };
}

/** Progress of a part, as progress of the whole. */
const scaled = (means: TrialMeans, from: number, to: number): TrialMeans => ({
  ...means,
  progress: (share, detail) => means.progress(from + (to - from) * share, detail),
});

function warningsOf({ live, methods }: SelectInput): string[] {
  if (!live || methods[live.method]) return [];
  return [`The live version's method ${JSON.stringify(live.method)} is not known any more, so it was not compared.`];
}
