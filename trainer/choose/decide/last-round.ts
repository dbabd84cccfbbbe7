import { samplePositions, seededRandom } from "../../learn/numerics/seeded-random.ts";
import { evaluate } from "../evaluate/evaluate.ts";
import { joined, restrictedTo } from "../evaluate/evaluation-figures.ts";
import { choiceOf, isSameChoice } from "../tries/candidate.ts";
import { dropped, failed } from "../tries/discarded.ts";
import { refitSeconds, type SelectState, scaled } from "../tries/select-state.ts";
import type { Trial } from "../tries/trial.ts";
import { nearTheBest } from "../tries/tune.ts";

export type LastRound = {
  /** Trials that were evaluated on all of `positions`. */
  readonly finalists: readonly Trial[];
  readonly baseline: Trial;
  readonly positions: Uint32Array;
};

/** The number of lists is a multiple of this, so that a slightly slower machine chooses on the same users. */
const POSITIONS_STEP = 1000;

/**
 * Evaluates the trials near the best, and the live version's, on further cases: all cases, or as many as time allows. The other trials
 * go to `discarded` with their early figures.
 */
export async function lastRound(state: SelectState): Promise<LastRound> {
  const { live, context, metric, validation, discarded, tried } = state;
  const isEarlyAll = validation.earlyPositions.length === validation.positions.length;
  const near = new Set(nearTheBest(state));
  const goesOn = (trial: Trial) => isEarlyAll || near.has(trial) || isSameChoice(choiceOf(trial), live);
  for (const trial of tried) if (!goesOn(trial)) discarded.push(dropped(trial, tried[0]!, metric));
  const last = tried.filter(goesOn);
  const rest = furtherPositions(state, last);
  const finalists: Trial[] = [];
  for (const [i, trial] of last.entries()) {
    const { cutOffs, includeSeen, signal, memoryMbMax, progress } = scaled(
      context,
      i / last.length,
      (i + 1) / last.length,
    );
    const detail = `${trial.method.name}: ${rest.length} further lists`;
    const report = { progress: (fraction: number) => progress(fraction, detail) };
    const options = { cutOffs, includeSeen, signal, memoryMbMax, positions: rest, ...report };
    try {
      const further = rest.length > 0 ? await evaluate(validation.split.cases, trial.served, options) : undefined;
      finalists.push(further ? { ...trial, evaluation: joined(trial.evaluation, further) } : trial);
    } catch (error) {
      context.signal.throwIfAborted();
      discarded.push(failed(trial, error));
    }
  }
  const positions = Uint32Array.from([...validation.earlyPositions, ...rest]).sort();
  const baseline = { ...state.baseline, evaluation: restrictedTo(state.baseline.evaluation, positions) };
  return { finalists, baseline, positions };
}

/** The cases that are not early ones: all, or a sample that can be evaluated in time. */
function furtherPositions(state: SelectState, trials: readonly Trial[]): Uint32Array {
  const { validation, secondsLeft, context } = state;
  const isEarly = new Set(validation.earlyPositions);
  const rest = validation.positions.filter((at) => !isEarly.has(at));
  const secondsEach = trials.reduce((sum, trial) => sum + trial.secondsPerList, 0);
  const affordable = Math.max(0, secondsLeft() - refitSeconds(state)) / Math.max(secondsEach, 1e-9);
  if (affordable >= rest.length) return rest;
  const count = Math.floor(affordable / POSITIONS_STEP) * POSITIONS_STEP;
  return samplePositions(rest.length, count, seededRandom(context.seed, 59)).map((i) => rest[i]!);
}
