import { samplePositions, seededRandom } from "../../learn/numerics/seeded-random.ts";
import { evaluate } from "../evaluate/evaluate.ts";
import { joined, restrictedTo } from "../evaluate/evaluation-figures.ts";
import { BLEND, methodNamed } from "../tries/blend-method.ts";
import { findBlend } from "../tries/find-blend.ts";
import { choiceOf, isSameChoice, meanOf, type Trial, type TrialContext } from "../tries/trial.ts";
import { fractionOfBest, NEAR_THE_BEST, REFIT_MARGIN, type SelectState, scaled } from "../tries/try-methods.ts";
import { discardedTrial, failureReason, untried } from "../tries/tune-method.ts";

/** The trials with the best blend of some of them put first, if there is one. */
export async function withBlend(state: SelectState, tried: readonly Trial[]): Promise<Trial[]> {
  const { methods, context, metric, validation, secondsLeft, discarded } = state;
  // A trial that cannot be fitted again in time is no part: with less time it would be another model than the evaluated one.
  const seconds = secondsLeft();
  const trials = tried.filter(({ fitSeconds }) => REFIT_MARGIN * fitSeconds <= seconds);
  const searchSeconds = Math.min(seconds / 3, seconds - REFIT_MARGIN * longestFit(trials));
  const fitSecondsMax = (seconds - searchSeconds) / ALL_DATA_MARGIN;
  const task = { trials, methods, validation, metric, deadline: context.clock() + searchSeconds, fitSecondsMax };
  try {
    const blend = await findBlend(task, scaled(context, 0.8, 0.88));
    return blend ? [blend, ...tried] : [...tried];
  } catch (error) {
    context.signal.throwIfAborted();
    discarded.push({ ...untried(methodNamed(BLEND, methods)!, {}, failureReason(error)), outcome: "failed" });
    return [...tried];
  }
}

/** Time of a fit on all data, relative to a fit on the training part. */
const ALL_DATA_MARGIN = 1.25;

const longestFit = (trials: readonly Trial[]) => Math.max(0, ...trials.map(({ fitSeconds }) => fitSeconds));

export type LastRound = {
  /** Trials that were evaluated on all of `positions`. */
  readonly finalists: readonly Trial[];
  readonly baseline: Trial;
  readonly positions: Uint32Array;
};

/** Fraction of the remaining time for the last round; the refit has the rest. */
const TIME_FRACTION = 0.3;
const POSITIONS_STEP = 1000;

/**
 * Evaluates the trials near the best, and the live version's, on further cases: all cases, or as many as time allows. The other trials
 * go to `discarded` with their early figures.
 *
 * @param tried Trials on the early cases, the best first.
 */
export async function lastRound(state: SelectState, tried: readonly Trial[]): Promise<LastRound> {
  const { live, context, metric, validation, discarded } = state;
  const best = tried[0];
  const least = fractionOfBest(NEAR_THE_BEST, tried, metric);
  const isEarlyAll = validation.earlyPositions.length === validation.positions.length;
  const goesOn = (trial: Trial) =>
    isEarlyAll || meanOf(trial.evaluation, metric) >= least || isSameChoice(choiceOf(trial), live);
  const near = tried.filter(goesOn);
  for (const trial of tried) {
    if (!goesOn(trial) && best) discarded.push(discardedTrial(trial, { best, metric }));
  }
  const rest = furtherPositions(state, near);
  const finalists: Trial[] = [];
  for (const [i, trial] of near.entries()) {
    const progress = scaled(context, 0.88 + (0.12 * i) / near.length, 0.88 + (0.12 * (i + 1)) / near.length);
    if (rest.length === 0) finalists.push(trial);
    else {
      try {
        finalists.push(await evaluateOn(rest, trial, { state, context: progress }));
      } catch (error) {
        context.signal.throwIfAborted();
        discarded.push({ ...untried(trial.method, trial.params, failureReason(error)), outcome: "failed" });
      }
    }
  }
  const positions =
    rest.length === 0 ? validation.earlyPositions : Uint32Array.from([...validation.earlyPositions, ...rest]).sort();
  const baseline = { ...state.baseline, evaluation: restrictedTo(state.baseline.evaluation, positions) };
  return { finalists, baseline, positions };
}

/** The cases that are not early ones: all, or a sample that can be evaluated in time. */
function furtherPositions({ validation, secondsLeft, context }: SelectState, trials: readonly Trial[]): Uint32Array {
  const isEarly = new Set(validation.earlyPositions);
  const rest = validation.positions.filter((at) => !isEarly.has(at));
  const secondsEach = trials.reduce((sum, trial) => sum + trial.secondsPerList, 0);
  const seconds = Math.min(TIME_FRACTION * secondsLeft(), secondsLeft() - REFIT_MARGIN * longestFit(trials));
  const affordable = Math.max(0, seconds) / Math.max(secondsEach, 1e-9);
  if (affordable >= rest.length) return rest;
  // The count is rounded down to steps, so that a slightly slower machine chooses on the same users.
  const count = Math.floor(affordable / POSITIONS_STEP) * POSITIONS_STEP;
  return samplePositions(rest.length, count, seededRandom(context.seed, 59)).map((i) => rest[i]!);
}

async function evaluateOn(
  positions: Uint32Array,
  trial: Trial,
  { state, context }: { readonly state: SelectState; readonly context: TrialContext },
): Promise<Trial> {
  const { cutOffs, includeSeen, signal, memoryMbMax } = context;
  const detail = `${trial.method.name}: ${positions.length} further lists`;
  const progress = (fraction: number) => context.progress(fraction, detail);
  const options = { cutOffs, includeSeen, signal, memoryMbMax, positions, progress };
  const evaluation = await evaluate(state.validation.split.cases, trial.served, options);
  return { ...trial, evaluation: joined(trial.evaluation, evaluation) };
}
