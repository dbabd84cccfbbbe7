import { POPULARITY } from "../../../shared/manifest.ts";
import type { Method, Params, TrainingData } from "../../learn/model.ts";
import type { MetricAtK } from "../evaluate/evaluate.ts";
import type { Validation } from "../splits/validation.ts";
import { methodNamed } from "./blend-method.ts";
import { paceFor, predictedSeconds } from "./pace.ts";
import { byMetric, type Choice, choiceOf, isSameChoice, meanOf, type Trial, type TrialContext } from "./trial.ts";
import { type Discarded, tuneMethod, untried } from "./tune-method.ts";

/** What the steps of one selection share. */
export type SelectState = {
  readonly methods: Readonly<Record<string, Method>>;
  readonly live: Choice | undefined;
  readonly context: TrialContext;
  readonly metric: MetricAtK;
  readonly validation: Validation;
  readonly baseline: Trial;
  /** For choosing and for the refit that follows. */
  readonly secondsMax: number;
  /** Of those; below 0 when it is late. */
  readonly secondsLeft: () => number;
  /** What became of settings that do not go on: added to by every step. */
  readonly discarded: Discarded[];
};

const FINALISTS_PER_METHOD = 2;

/** The best settings of every method but popularity, judged on the early cases; the live version's too. The best first. */
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
 * Where an even share of the time is too little for a method's best guess, the cheapest of its settings first of all: what comes late
 * may find no time at all, and on data with an order any look at it beats every method that is blind to it.
 */
async function tryScouts(methods: readonly Method[], state: SelectState, before: Trial[]): Promise<Trial[]> {
  const { context, validation, secondsLeft } = state;
  const { train } = validation;
  const evenShare = secondsLeft() / methods.length;
  const secondsMax = SCOUT_SHARE * secondsLeft();
  let tried = before;
  for (const method of methods) {
    const secondsFor = predictionBy(method, state, tried);
    const [best, ...others] = method.grid(train);
    const cheapest = others.sort((a, b) => secondsFor(a) - secondsFor(b))[0];
    if (!best || !cheapest || secondsFor(best) <= evenShare) continue;
    if (secondsFor(cheapest) > Math.min(secondsMax, secondsFor(best) / SCOUT_CHEAPER)) continue;
    if (method.cost(train, cheapest).memoryMb > context.memoryMbMax) continue;
    tried = await tryMethod(method, { state, tried, grid: [cheapest], secondsMax, from: 0, to: 0 });
  }
  return tried;
}

/** Of the time, for the first look at a method that is too dear for a fair part of it. */
const SCOUT_SHARE = 1 / 6;
/** How many times cheaper than the best guess: else it is no other kind of look, and must wait for its turn. */
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
    // Where an even share is too little for anything, the cheaper methods are tried rather than none.
    const least = LEAST_MARGIN * predictionBy(method, state, tried)(grid[0] ?? {});
    const secondsMax = Math.max(least, secondsLeft() / (methods.length - m));
    const [from, to] = [m, m + 1].map((at) => (TURNS_SHARE * at) / methods.length) as [number, number];
    tried = await tryMethod(method, { state, tried, grid, secondsMax, from, to });
  }
  return tried;
}

/** True for a blend whose parts were all tried and are all far below the best: a blend gains less over its best part than that. */
function isHopeless({ parts = [] }: Method, tried: readonly Trial[], metric: MetricAtK): boolean {
  const least = shareOfBest(PART_LEAST, tried, metric);
  // The best first, so that the first of a name is its best.
  const best = parts.map((name) => tried.find(({ method }) => method.name === name));
  return parts.length > 0 && best.every((part) => part !== undefined && meanOf(part.evaluation, metric) < least);
}

/** Share of the best mean: a part below has no prospect. */
const PART_LEAST = 0.8;
/** For the first of a method's settings, above what is predicted. */
const LEAST_MARGIN = 1.1;
/** Of the progress. */
const TURNS_SHARE = 0.9;

/**
 * What was left out of the methods near the best, the best first, where time is left after all: others may have taken less than their
 * part, and how long a method takes is known once it was tried.
 */
async function tryLeftOut(state: SelectState, before: Trial[]): Promise<Trial[]> {
  const { methods, metric, secondsLeft } = state;
  const least = shareOfBest(NEAR_THE_BEST, before, metric);
  const near = before.filter(({ evaluation }) => meanOf(evaluation, metric) >= least);
  let tried = before;
  for (const name of new Set(near.map(({ method }) => method.name))) {
    const method = methods[name]; // not a blend, which may be the live version's
    const grid = method ? takeLeftOut(method, state) : [];
    if (!method || grid.length === 0) continue;
    // Half of what remains after two fits of the best so far: it is judged on more lists and fitted again, perhaps beside another.
    const secondsMax = secondsLeft() / 2 - tried[0]!.fitSeconds;
    tried = await tryMethod(method, { state, tried, grid, secondsMax, from: TURNS_SHARE, to: 1 });
  }
  return tried;
}

/**
 * If nothing was tried (the machine stalled), starts again with the full time until one candidate is judged:
 * better late than lists by popularity until the next training.
 */
async function tryLate(methods: readonly Method[], state: SelectState): Promise<Trial[]> {
  const begin = state.context.clock();
  const late = { ...state, secondsLeft: () => state.secondsMax - (state.context.clock() - begin) };
  let tried = await tryLive(late);
  for (const method of methods) {
    if (tried.length > 0) break;
    const turn = { state: late, tried, secondsMax: late.secondsLeft(), from: TURNS_SHARE, to: 1 };
    tried = await tryMethod(method, { ...turn, grid: takeLeftOut(method, late) });
  }
  return tried;
}

/** Share of the best mean: what is below has no prospect. */
export const NEAR_THE_BEST = 0.9;

/** Of the best mean; 0 where nothing was tried. @param tried The best first. */
export const shareOfBest = (share: number, [best]: readonly Trial[], metric: MetricAtK): number =>
  best ? share * meanOf(best.evaluation, metric) : 0;

/** The settings of a method that were left out, which they are no longer, the best guess first. */
function takeLeftOut(method: Method, { discarded, validation }: SelectState): Params[] {
  const isOf = (one: Discarded) => one.method === method.name && one.outcome === "left_out";
  const leftOut = discarded.filter(isOf);
  forget(discarded, isOf);
  return method.grid(validation.train).filter((params) => {
    const choice = { method: method.name, params };
    return leftOut.some((one) => isSameChoice(choice, one));
  });
}

/** For what is tried after all, and then told anew. */
const forget = (discarded: Discarded[], isForgotten: (one: Discarded) => boolean) =>
  discarded.splice(0, discarded.length, ...discarded.filter((one) => !isForgotten(one)));

/** Of fitting and judging some settings, by the pace of what was tried. */
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
  /** Of the progress of all methods, 0…1. */
  readonly from: number;
  readonly to: number;
};

/** What was tried and the best of this method's settings, the best first. */
async function tryMethod(method: Method, { state, tried, from, to, ...turn }: Turn): Promise<Trial[]> {
  const { live, context, metric, validation, discarded, secondsLeft } = state;
  const { train, split, earlyPositions: positions } = validation;
  const left = secondsLeft();
  // Of what is left, a third is kept for the refit, since what is chosen is fitted once more, and one for blends and judging.
  const secondsMax = Math.max(0, Math.min(left / 3, turn.secondsMax));
  const known = [...tried.map(choiceOf), live];
  const grid = turn.grid.filter((params) => !known.some((one) => isSameChoice({ method: method.name, params }, one)));
  const time = { secondsMax, secondsHard: left - refitReserve(tried, left), pace: paceFor(method, tried, train) };
  const task = { method, grid, data: train, cases: split.cases, positions, metric, ...time };
  const memoryMbMax = context.memoryMbMax - retainedMb(tried, train);
  const progress = scaled(context, 0.2 + 0.6 * from, 0.2 + 0.6 * to);
  const tuned = await tuneMethod({ ...task, keepMax: FINALISTS_PER_METHOD }, { ...progress, memoryMbMax });
  discarded.push(...tuned.discarded);
  return released([...tried, ...tuned.finalists].sort(byMetric(metric)), train, context.memoryMbMax * RETAINED_SHARE);
}

/** Whatever runs late is stopped while there is time for the best so far to be fitted on all data. */
const refitReserve = (tried: readonly Trial[], left: number) =>
  Math.min(left / 2, REFIT_MARGIN * (tried[0]?.fitSeconds ?? 0));
export const REFIT_MARGIN = 1.5;

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
  const { live, methods, context, metric, validation, discarded } = state;
  const method = live && methodNamed(live.method, methods);
  if (!live || !method || method.name === POPULARITY) return [];
  const { train, split, earlyPositions: positions } = validation;
  const task = { method, grid: [live.params], data: train, cases: split.cases, positions, metric, keepMax: 1 };
  forget(discarded, (one) => one.outcome === "left_out" && isSameChoice(one, live));
  const tuned = await tuneMethod({ ...task, secondsMax: state.secondsLeft() / 3 }, scaled(context, 0.15, 0.2));
  discarded.push(...tuned.discarded);
  return [...tuned.finalists];
}

/** Progress of a part, as progress of the whole. */
export const scaled = (context: TrialContext, from: number, to: number): TrialContext => ({
  ...context,
  progress: (share, detail) => context.progress(from + (to - from) * share, detail),
});
