import type { Method, Params, TrainingData } from "../models/model.ts";
import { methodNamed } from "./blend-method.ts";
import { type Choice, choiceOf, isSameChoice, POPULARITY } from "./choice.ts";
import type { MetricAtK } from "./evaluate.ts";
import { meanOf, type Trial, type TrialMeans } from "./trial.ts";
import { type Discarded, secondsPerList, type TuneTask, tuneMethod } from "./tune-method.ts";
import type { Validation } from "./validation.ts";

/** What the steps of one selection share. */
export type SelectState = {
  readonly methods: Readonly<Record<string, Method>>;
  readonly live: Choice | undefined;
  readonly means: TrialMeans;
  readonly metric: MetricAtK;
  readonly validation: Validation;
  readonly baseline: Trial;
  /** Seconds left for choosing and for the refit that follows. */
  readonly secondsLeft: () => number;
  /** What became of settings that do not go on: added to by every step. */
  readonly discarded: Discarded[];
};

const FINALISTS_PER_METHOD = 2;

/** The best settings of every method but popularity, judged on the early cases; the live version's too. The best first. */
export async function tryMethods(state: SelectState): Promise<Trial[]> {
  const { validation, secondsLeft } = state;
  const { train } = validation;
  const methods = Object.values(state.methods)
    .filter(({ name }) => name !== POPULARITY)
    .sort((a, b) => secondsOf(a, train) - secondsOf(b, train));
  let tried = await tryScouts(methods, state, await tryLive(state));
  for (const [m, method] of methods.entries()) {
    // Where an even share is too little for anything, the cheaper methods are tried rather than none.
    const pace = paceOf(tried, train);
    const least = LEAST_MARGIN * (pace.fit * secondsOf(method, train) + judgingSeconds(pace, state));
    const secondsMax = Math.max(least, secondsLeft() / (methods.length - m));
    const [from, to] = [m / methods.length, (m + 1) / methods.length];
    tried = await tryMethod(method, { state, tried, grid: method.grid(train), secondsMax, from, to });
  }
  return tried;
}

const secondsOf = (method: Method, train: TrainingData) => method.cost(train, method.grid(train)[0] ?? {}).seconds;

/**
 * Where an even share of the time is too little for a method's best guess, the cheapest of its settings first of all: what comes late
 * may find no time at all, and on data with an order any look at it beats every method that is blind to it.
 */
async function tryScouts(methods: readonly Method[], state: SelectState, before: Trial[]): Promise<Trial[]> {
  const { means, validation, secondsLeft } = state;
  const { train } = validation;
  const evenShare = secondsLeft() / methods.length;
  const secondsMax = SCOUT_SHARE * secondsLeft();
  let tried = before;
  for (const method of methods) {
    const pace = paceOf(tried, train);
    const secondsFor = (params: Params) => pace.fit * method.cost(train, params).seconds + judgingSeconds(pace, state);
    const [best, ...others] = method.grid(train);
    const cheapest = others.sort((a, b) => secondsFor(a) - secondsFor(b))[0];
    if (!best || !cheapest || secondsFor(best) <= evenShare) continue;
    if (secondsFor(cheapest) > Math.min(secondsMax, secondsFor(best) / SCOUT_CHEAPER)) continue;
    if (method.cost(train, cheapest).memoryMb > means.memoryMbMax) continue;
    tried = await tryMethod(method, { state, tried, grid: [cheapest], secondsMax, from: 0, to: 0 });
  }
  return tried;
}

/** Of the time, for the first look at a method that is too dear for a fair part of it. */
const SCOUT_SHARE = 1 / 6;
/** How many times cheaper than the best guess: else it is no other kind of look, and must wait for its turn. */
const SCOUT_CHEAPER = 3;

type Turn = {
  readonly state: SelectState;
  readonly tried: readonly Trial[];
  readonly grid: readonly Params[];
  readonly secondsMax: number;
  /** Of the progress of all methods, 0…1. */
  readonly from: number;
  readonly to: number;
};

/** What was tried and the best of this method's settings, the best first. */
async function tryMethod(method: Method, { state, tried, from, to, ...turn }: Turn): Promise<Trial[]> {
  const { live, means, metric, validation, discarded, secondsLeft } = state;
  const { train, split, earlyPositions: positions } = validation;
  const left = secondsLeft();
  // Of what is left, a third is kept for the refit, since what is chosen is fitted once more, and one for blends and judging.
  const secondsMax = Math.max(0, Math.min(left / 3, turn.secondsMax));
  const known = [...tried.map(choiceOf), live];
  const grid = turn.grid.filter((params) => !known.some((one) => isSameChoice({ method: method.name, params }, one)));
  const time = { secondsMax, secondsHard: left - refitReserve(tried, left), pace: paceOf(tried, train) };
  const task = { method, grid, data: train, cases: split.cases, positions, metric, ...time };
  const memoryMbMax = means.memoryMbMax - retainedMb(tried, train);
  const progress = scaled(means, 0.2 + 0.6 * from, 0.2 + 0.6 * to);
  const tuned = await tuneMethod({ ...task, keepMax: FINALISTS_PER_METHOD }, { ...progress, memoryMbMax });
  discarded.push(...tuned.discarded);
  return released([...tried, ...tuned.finalists].sort(byMetric(metric)), train, means.memoryMbMax * RETAINED_SHARE);
}

const judgingSeconds = (pace: Pace, { validation: { train, earlyPositions } }: SelectState) =>
  pace.judge * earlyPositions.length * secondsPerList(train.itemCount);

/** For the first of a method's settings, above what is predicted. */
const LEAST_MARGIN = 1.1;

const byMetric = (metric: MetricAtK) => (a: Trial, b: Trial) =>
  meanOf(b.evaluation, metric) - meanOf(a.evaluation, metric);

/** Whatever runs late is stopped while there is time for the best so far to be fitted on all data. */
const refitReserve = (tried: readonly Trial[], left: number) =>
  Math.min(left / 2, REFIT_MARGIN * (tried[0]?.fitSeconds ?? 0));
export const REFIT_MARGIN = 1.5;

type Pace = NonNullable<TuneTask["pace"]>;

/** How many times longer than predicted the trials took: the machine may be busy with other work. */
function paceOf(tried: readonly Trial[], train: TrainingData): Pace {
  const sum = (of: (trial: Trial) => number) => tried.reduce((total, trial) => total + of(trial), 0);
  const lists = ({ evaluation }: Trial) => evaluation.positions.length;
  const fits = {
    taken: sum(({ fitSeconds }) => fitSeconds),
    predicted: sum(({ method, params }) => method.cost(train, params).seconds),
  };
  const judged = {
    taken: sum((trial) => lists(trial) * trial.secondsPerList),
    predicted: sum(lists) * secondsPerList(train.itemCount),
  };
  // Short fits say little, and no prediction is better than by half.
  const fit = fits.taken < SECONDS_TELLING ? 1 : fits.taken / fits.predicted / PREDICTION_ERROR;
  const judge = judged.predicted === 0 ? 1 : judged.taken / judged.predicted;
  return { fit: within(fit), judge: within(judge) };
}

const within = (pace: number) => Math.min(PACE_MAX, Math.max(1, pace));
const PACE_MAX = 20;
const PREDICTION_ERROR = 1.5;
const SECONDS_TELLING = 5;

/** Fitted models are kept for blends within this share of the memory; of the others only the served form. */
const RETAINED_SHARE = 1 / 3;
/** A fitted model is smaller than the peak of its fit. */
const FITTED_SHARE = 1 / 2;

const retainedMb = (trials: readonly Trial[], train: TrainingData): number =>
  trials.reduce((sum, trial) => sum + (trial.fitted ? fittedMb(trial, train) : 0), 0);

const fittedMb = ({ method, params }: Trial, train: TrainingData) => FITTED_SHARE * method.cost(train, params).memoryMb;

/** The same trials, the fitted models of the worse ones let go. */
function released(trials: readonly Trial[], train: TrainingData, memoryMb: number): Trial[] {
  let left = memoryMb;
  return trials.map((trial) => {
    if (trial.fitted) left -= fittedMb(trial, train);
    return left >= 0 ? trial : { ...trial, fitted: undefined };
  });
}

/** The live version's method with its settings, which no other setting can push out. */
async function tryLive(state: SelectState): Promise<Trial[]> {
  const { live, methods, means, metric, validation, discarded } = state;
  const method = live && methodNamed(live.method, methods);
  if (!live || !method || method.name === POPULARITY) return [];
  const { train, split, earlyPositions: positions } = validation;
  const task = { method, grid: [live.params], data: train, cases: split.cases, positions, metric, keepMax: 1 };
  const tuned = await tuneMethod({ ...task, secondsMax: state.secondsLeft() / 3 }, scaled(means, 0.15, 0.2));
  discarded.push(...tuned.discarded);
  return [...tuned.finalists];
}

/** Progress of a part, as progress of the whole. */
export const scaled = (means: TrialMeans, from: number, to: number): TrialMeans => ({
  ...means,
  progress: (share, detail) => means.progress(from + (to - from) * share, detail),
});
