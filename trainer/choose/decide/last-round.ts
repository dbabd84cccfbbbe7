import { samplePositions, seededRandom } from "../../learn/numerics/seeded-random.ts";
import { evaluate } from "../evaluate/evaluate.ts";
import { joined, restrictedTo } from "../evaluate/evaluation-figures.ts";
import { BLEND, methodNamed } from "../tries/blend-method.ts";
import { findBlend } from "../tries/find-blend.ts";
import { choiceOf, isSameChoice, meanOf, type Trial, type TrialContext } from "../tries/trial.ts";
import { NEAR_THE_BEST, REFIT_MARGIN, type SelectState, scaled, shareOfBest } from "../tries/try-methods.ts";
import { discardedTrial, failureReason, untried } from "../tries/tune-method.ts";

/** The candidates and the best blend of some of them, the best first. */
export async function withBlend(state: SelectState, tried: readonly Trial[]): Promise<Trial[]> {
  const { methods, context, metric, validation, secondsLeft, discarded } = state;
  // What could not be fitted again in time can be no part: trained for less, it would not be what was judged.
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

/** A fit on all data for one on the training part. */
const ALL_DATA_MARGIN = 1.25;

const longestFit = (trials: readonly Trial[]) => Math.max(0, ...trials.map(({ fitSeconds }) => fitSeconds));

export type LastRound = {
  /** Judged on `positions`, all of them. */
  readonly finalists: readonly Trial[];
  readonly baseline: Trial;
  readonly positions: Uint32Array;
};

/** Of the time that is left; the refit has the rest. */
const TIME_SHARE = 0.3;
const POSITIONS_STEP = 1000;

/**
 * The candidates near the best, and the live version's, judged on further cases: all that there are, or as many as time allows. The
 * early figures of the others stand, in `discarded`.
 *
 * @param tried Judged on the early cases, the best first.
 */
export async function lastRound(state: SelectState, tried: readonly Trial[]): Promise<LastRound> {
  const { live, context, metric, validation, discarded } = state;
  const best = tried[0];
  const least = shareOfBest(NEAR_THE_BEST, tried, metric);
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
        finalists.push(await judgedOn(rest, trial, { state, context: progress }));
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

/** The cases that were not among the early ones: all, or a sample that can be judged in time. */
function furtherPositions({ validation, secondsLeft, context }: SelectState, trials: readonly Trial[]): Uint32Array {
  const isEarly = new Set(validation.earlyPositions);
  const rest = validation.positions.filter((at) => !isEarly.has(at));
  const secondsEach = trials.reduce((sum, trial) => sum + trial.secondsPerList, 0);
  const seconds = Math.min(TIME_SHARE * secondsLeft(), secondsLeft() - REFIT_MARGIN * longestFit(trials));
  const affordable = Math.max(0, seconds) / Math.max(secondsEach, 1e-9);
  if (affordable >= rest.length) return rest;
  // In steps, so that a machine a little slower chooses on the same users.
  const count = Math.floor(affordable / POSITIONS_STEP) * POSITIONS_STEP;
  return samplePositions(rest.length, count, seededRandom(context.seed, 59)).map((i) => rest[i]!);
}

async function judgedOn(
  positions: Uint32Array,
  trial: Trial,
  { state, context }: { readonly state: SelectState; readonly context: TrialContext },
): Promise<Trial> {
  const { cutOffs, includeSeen, signal, memoryMbMax } = context;
  const detail = `${trial.method.name}: ${positions.length} further lists`;
  const progress = (share: number) => context.progress(share, detail);
  const options = { cutOffs, includeSeen, signal, memoryMbMax, positions, progress };
  const evaluation = await evaluate(state.validation.split.cases, trial.served, options);
  return { ...trial, evaluation: joined(trial.evaluation, evaluation) };
}
