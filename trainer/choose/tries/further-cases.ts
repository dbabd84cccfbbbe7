import { samplePositions, seededRandom } from "../../learn/numerics/seeded-random.ts";
import { evaluate } from "../evaluate/evaluate.ts";
import { joined } from "../evaluate/evaluation-figures.ts";
import { choiceOf, isSameChoice } from "./candidate.ts";
import { dropped, failed } from "./discarded.ts";
import { nearTheBest, type SelectState, scaled } from "./select-state.ts";
import { byMetric } from "./trial.ts";

/** The number of further lists is a multiple of this, so that a slightly slower machine chooses on the same users. */
const POSITIONS_STEP = 500;
/** Fraction of the time left for further lists. */
const TIME_FRACTION = 1 / 3;

/**
 * Evaluates the trials near the best, and the live version's, on further cases; the other trials are dropped with the figures they have.
 *
 * @param wanted The cases to compare on from now on; only a sample of them where time is short.
 * @returns The cases that all remaining trials are evaluated on.
 */
export async function onFurtherCases(state: SelectState, wanted: Uint32Array): Promise<Uint32Array> {
  const { live, context, metric, validation, discarded, tried } = state;
  const rest = affordableOf(state, wanted);
  if (rest.length === 0) return state.positions;
  const near = new Set(nearTheBest(state));
  const all = tried.splice(0);
  for (const [i, trial] of all.entries()) {
    if (!near.has(trial) && !isSameChoice(choiceOf(trial), live)) {
      discarded.push(dropped(trial, all[0]!, metric));
      continue;
    }
    const { cutOffs, includeSeen, signal, memoryMbMax, progress } = scaled(
      context,
      i / all.length,
      (i + 1) / all.length,
    );
    const detail = `${trial.method.name}: ${rest.length} further lists`;
    const report = { progress: (fraction: number) => progress(fraction, detail) };
    const options = { cutOffs, includeSeen, signal, memoryMbMax, positions: rest, ...report };
    try {
      const further = await evaluate(validation.split.cases, trial.served, options);
      tried.push({ ...trial, evaluation: joined(trial.evaluation, further) });
    } catch (error) {
      signal.throwIfAborted();
      discarded.push(failed(trial, error));
    }
  }
  tried.sort(byMetric(metric));
  return Uint32Array.from([...state.positions, ...rest]).sort();
}

/** The wanted cases that have not been evaluated: all, or a sample that can be evaluated in time. */
function affordableOf(state: SelectState, wanted: Uint32Array): Uint32Array {
  const { positions, context } = state;
  const known = new Set(positions);
  const rest = wanted.filter((at) => !known.has(at));
  const secondsEach = nearTheBest(state).reduce((sum, trial) => sum + trial.secondsPerList, 0);
  const affordable = (TIME_FRACTION * state.secondsLeft()) / Math.max(secondsEach, 1e-9);
  if (affordable >= rest.length) return rest;
  const count = Math.floor(affordable / POSITIONS_STEP) * POSITIONS_STEP;
  return samplePositions(rest.length, count, seededRandom(context.seed, 59)).map((i) => rest[i]!);
}
