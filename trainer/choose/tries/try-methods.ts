import { POPULARITY } from "../../../shared/manifest.ts";
import type { Method, Params, TrainingData } from "../../learn/model.ts";
import type { MetricAtK } from "../evaluate/evaluate.ts";
import type { Validation } from "../splits/validation.ts";
import { methodNamed } from "./blend-method.ts";
import { paceFor, predictedSeconds } from "./pace.ts";
import { byMetric, type Choice, choiceOf, isSameChoice, meanOf, type Trial, type TrialContext } from "./trial.ts";
import { type Discarded, tuneMethod, untried } from "./tune-method.ts";

/** The state that all steps of one selection share. */
export type SelectState = {
  readonly methods: Readonly<Record<string, Method>>;
  readonly live: Choice | undefined;
  readonly context: TrialContext;
  readonly metric: MetricAtK;
  readonly validation: Validation;
  readonly baseline: Trial;
  /** Seconds for choosing and for the refit that follows. */
  readonly secondsMax: number;
  /** Seconds of the budget that remain; negative once it is overrun. */
  readonly secondsLeft: () => number;
  /** Settings that are out of the race. Every step adds to the list. */
  readonly discarded: Discarded[];
};

const FINALISTS_PER_METHOD = 2;

/** Tries every method but popularity, and the live version, on the early cases. Returns each method's best trials, the best first. */
export async function tryMethods(state: SelectState): Promise<Trial[]> {
  const { train } = state.validation;
  const methods = Object.values(state.methods)
    .filter(({ name }) => name !== POPULARITY)
    .sort((a, b) => costOfBestGuess(a, train) - costOfBestGuess(b, train));
  const scouted = await tryScouts(methods, state, await tryLive(state));
  const tried = await tryLeftOut(state, await tryInTurn(methods, state, scouted));
  return tried.length > 0 ? tried : await tryLate(methods, state);
}

const costOfBestGuess = (method: Method, train: TrainingData) =>
  method.cost(train, method.grid(train)[0] ?? {}).seconds;

/**
 * Tries the cheapest settings of each method whose best guess takes more than an even part of the time. Methods that come late may find no
 * time left, and on data with an order even a cheap sequential model beats every method that ignores the order.
 */
async function tryScouts(methods: readonly Method[], state: SelectState, before: Trial[]): Promise<Trial[]> {
  const { context, validation, secondsLeft } = state;
  const { train } = validation;
  const evenPart = secondsLeft() / methods.length;
  const secondsMax = SCOUT_FRACTION * secondsLeft();
  let tried = before;
  for (const method of methods) {
    const secondsFor = predictionBy(method, state, tried);
    const [best, ...others] = method.grid(train);
    const cheapest = others.sort((a, b) => secondsFor(a) - secondsFor(b))[0];
    if (!best || !cheapest || secondsFor(best) <= evenPart) continue;
    if (secondsFor(cheapest) > Math.min(secondsMax, secondsFor(best) / SCOUT_CHEAPER)) continue;
    if (method.cost(train, cheapest).memoryMb > context.memoryMbMax) continue;
    tried = await tryMethod(method, { state, tried, grid: [cheapest], secondsMax, from: 0, to: 0 });
  }
  return tried;
}

/** Upper bound of the time for such a first trial, as a fraction of the remaining time. */
const SCOUT_FRACTION = 1 / 6;
/** The cheapest settings must be this many times cheaper than the best guess; otherwise the method waits for its turn. */
const SCOUT_CHEAPER = 3;

async function tryInTurn(methods: readonly Method[], state: SelectState, before: Trial[]): Promise<Trial[]> {
  const { validation, secondsLeft, metric, discarded } = state;
  let tried = before;
  for (const [m, method] of methods.entries()) {
    const grid = method.grid(validation.train);
    if (isHopeless(method, tried, metric)) {
      const reason = "left out: each method that this blend combines is far below the best";
      discarded.push(...grid.map((params) => untried(method, params, reason)));
      continue;
    }
    // The best guess always gets its predicted time, even if that is more than an even part: then later methods are left out.
    const least = LEAST_MARGIN * predictionBy(method, state, tried)(grid[0] ?? {});
    const secondsMax = Math.max(least, secondsLeft() / (methods.length - m));
    const [from, to] = [m, m + 1].map((at) => (TURNS_FRACTION * at) / methods.length) as [number, number];
    tried = await tryMethod(method, { state, tried, grid, secondsMax, from, to });
  }
  return tried;
}

/** True for a blend whose parts were all tried and are all far below the best: a blend gains less over its best part than that. */
function isHopeless({ parts = [] }: Method, tried: readonly Trial[], metric: MetricAtK): boolean {
  const least = fractionOfBest(PART_MIN, tried, metric);
  // Trials are sorted, so the first trial of a method is its best.
  const best = parts.map((name) => tried.find(({ method }) => method.name === name));
  return parts.length > 0 && best.every((part) => part !== undefined && meanOf(part.evaluation, metric) < least);
}

/** Fraction of the best mean below which a part of a blend is hopeless. */
const PART_MIN = 0.8;
/** Time for a method's best guess, as a multiple of the predicted time. */
const LEAST_MARGIN = 1.1;
/** Fraction of the progress for the turns; the rest is for settings that were left out. */
const TURNS_FRACTION = 0.9;

/**
 * Tries settings that were left out, of the methods near the best, if time is left: other methods may have taken less than their part, and
 * the pace of a method is known once it has been tried.
 */
async function tryLeftOut(state: SelectState, before: Trial[]): Promise<Trial[]> {
  const { methods, metric, secondsLeft } = state;
  const least = fractionOfBest(NEAR_THE_BEST, before, metric);
  const near = before.filter(({ evaluation }) => meanOf(evaluation, metric) >= least);
  let tried = before;
  for (const name of new Set(near.map(({ method }) => method.name))) {
    const method = methods[name]; // undefined for a blend, which only the live version can be
    const grid = method ? takeLeftOut(method, state) : [];
    if (!method || grid.length === 0) continue;
    // Half of the remaining time, less one fit of the best so far: the best is evaluated on more lists and fitted again.
    const secondsMax = secondsLeft() / 2 - tried[0]!.fitSeconds;
    tried = await tryMethod(method, { state, tried, grid, secondsMax, from: TURNS_FRACTION, to: 1 });
  }
  return tried;
}

/**
 * If nothing was tried (the machine stalled), starts again with the full time until one candidate is evaluated:
 * better late than lists by popularity until the next training.
 */
async function tryLate(methods: readonly Method[], state: SelectState): Promise<Trial[]> {
  const begin = state.context.clock();
  const late = { ...state, secondsLeft: () => state.secondsMax - (state.context.clock() - begin) };
  let tried = await tryLive(late);
  for (const method of methods) {
    if (tried.length > 0) break;
    const turn = { state: late, tried, secondsMax: late.secondsLeft(), from: TURNS_FRACTION, to: 1 };
    tried = await tryMethod(method, { ...turn, grid: takeLeftOut(method, late) });
  }
  return tried;
}

/** Fraction of the best mean from which a trial counts as near the best. */
export const NEAR_THE_BEST = 0.9;

/** A fraction of the best trial's mean; 0 when nothing was tried. @param tried The best first. */
export const fractionOfBest = (fraction: number, [best]: readonly Trial[], metric: MetricAtK): number =>
  best ? fraction * meanOf(best.evaluation, metric) : 0;

/** Takes the left-out settings of a method from `discarded`, the best guess first. */
function takeLeftOut(method: Method, { discarded, validation }: SelectState): Params[] {
  const isOf = (one: Discarded) => one.method === method.name && one.outcome === "left_out";
  const leftOut = discarded.filter(isOf);
  removeDiscarded(discarded, isOf);
  return method.grid(validation.train).filter((params) => {
    const choice = { method: method.name, params };
    return leftOut.some((one) => isSameChoice(choice, one));
  });
}

/** Removes settings that are tried after all; their trial is recorded instead. */
const removeDiscarded = (discarded: Discarded[], isRemoved: (one: Discarded) => boolean) =>
  discarded.splice(0, discarded.length, ...discarded.filter((one) => !isRemoved(one)));

/** A function that predicts the seconds of fitting and evaluating settings, by the pace of earlier trials. */
function predictionBy(method: Method, { validation }: SelectState, tried: readonly Trial[]) {
  const { train: data, earlyPositions } = validation;
  const options = { data, listCount: earlyPositions.length, pace: paceFor(method, tried, data) };
  return (params: Params) => predictedSeconds(method, params, options);
}

type Turn = {
  readonly state: SelectState;
  readonly tried: readonly Trial[];
  readonly grid: readonly Params[];
  readonly secondsMax: number;
  /** The part of the progress of all methods that this turn fills, within 0…1. */
  readonly from: number;
  readonly to: number;
};

/** Tries settings of one method and returns all trials so far, the best first. */
async function tryMethod(method: Method, { state, tried, from, to, ...turn }: Turn): Promise<Trial[]> {
  const { live, context, metric, validation, discarded, secondsLeft } = state;
  const { train, split, earlyPositions: positions } = validation;
  const left = secondsLeft();
  // One third of the remaining time is kept for the refit of the chosen model, and one third for blends and the last round.
  const secondsMax = Math.max(0, Math.min(left / 3, turn.secondsMax));
  const known = [...tried.map(choiceOf), live];
  const grid = turn.grid.filter((params) => !known.some((one) => isSameChoice({ method: method.name, params }, one)));
  const time = { secondsMax, secondsHard: left - refitReserve(tried, left), pace: paceFor(method, tried, train) };
  const task = { method, grid, data: train, cases: split.cases, positions, metric, ...time };
  const memoryMbMax = context.memoryMbMax - retainedMb(tried, train);
  const progress = scaled(context, 0.2 + 0.6 * from, 0.2 + 0.6 * to);
  const tuned = await tuneMethod({ ...task, keepMax: FINALISTS_PER_METHOD }, { ...progress, memoryMbMax });
  discarded.push(...tuned.discarded);
  return releaseFitted(
    [...tried, ...tuned.finalists].sort(byMetric(metric)),
    train,
    context.memoryMbMax * RETAINED_FRACTION,
  );
}

/** Seconds that are kept for fitting the best trial so far on all data: a trial that runs late is stopped before they begin. */
const refitReserve = (tried: readonly Trial[], left: number) =>
  Math.min(left / 2, REFIT_MARGIN * (tried[0]?.fitSeconds ?? 0));
export const REFIT_MARGIN = 1.5;

/** Fraction of the memory in which fitted models are kept for blends; other trials keep only their served form. */
const RETAINED_FRACTION = 1 / 3;
/** Size of a fitted model as a fraction of the predicted peak memory of its fit. */
const FITTED_FRACTION = 1 / 2;

const retainedMb = (trials: readonly Trial[], train: TrainingData): number =>
  trials.reduce((sum, trial) => sum + (trial.fitted ? fittedMb(trial, train) : 0), 0);

const fittedMb = ({ method, params }: Trial, train: TrainingData) =>
  FITTED_FRACTION * method.cost(train, params).memoryMb;

/** The same trials; fitted models beyond the memory limit are released, the worst trials first. */
function releaseFitted(trials: readonly Trial[], train: TrainingData, memoryMb: number): Trial[] {
  let left = memoryMb;
  return trials.map((trial) => {
    if (trial.fitted) left -= fittedMb(trial, train);
    return left >= 0 ? trial : { ...trial, fitted: undefined };
  });
}

/** Tries the live version's method with its settings. Other settings of that method cannot displace this trial. */
async function tryLive(state: SelectState): Promise<Trial[]> {
  const { live, methods, context, metric, validation, discarded } = state;
  const method = live && methodNamed(live.method, methods);
  if (!live || !method || method.name === POPULARITY) return [];
  const { train, split, earlyPositions: positions } = validation;
  const task = { method, grid: [live.params], data: train, cases: split.cases, positions, metric, keepMax: 1 };
  removeDiscarded(discarded, (one) => one.outcome === "left_out" && isSameChoice(one, live));
  const tuned = await tuneMethod({ ...task, secondsMax: state.secondsLeft() / 3 }, scaled(context, 0.15, 0.2));
  discarded.push(...tuned.discarded);
  return [...tuned.finalists];
}

/** A context whose progress fills the part `from`…`to` of the whole progress. */
export const scaled = (context: TrialContext, from: number, to: number): TrialContext => ({
  ...context,
  progress: (fraction, detail) => context.progress(from + (to - from) * fraction, detail),
});
