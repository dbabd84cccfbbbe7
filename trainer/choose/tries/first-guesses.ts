import { POPULARITY } from "../../../shared/manifest.ts";
import { methodNamed } from "../../learn/blends.ts";
import type { TrainingData } from "../../learn/model.ts";
import { type Candidate, choiceOf, isSameChoice } from "./candidate.ts";
import { failed, leftOut } from "./discarded.ts";
import { addTrial, obstacle, type SelectState, scaled, tryCandidate } from "./select-state.ts";

/**
 * Tries the best guess of every method and standard blend, and the live version, on all training users: the cheapest first, as long as
 * they fit the budget. Where the best guess of a method does not fit, its next setting that does is tried. Parts that were fitted before
 * cost nothing, so a blend is tried as soon as its parts are known.
 */
export async function tryFirstGuesses(state: SelectState): Promise<void> {
  const { methods, live, validation, context } = state;
  const { train } = validation;
  const grids: Candidate[][] = Object.values(methods)
    .filter(({ name }) => name !== POPULARITY)
    .map((method) => method.grid(train).map((params) => ({ method, params })))
    .filter((grid) => grid.length > 0);
  const liveMethod = live && live.method !== POPULARITY && methodNamed(live.method, methods);
  if (live && liveMethod) grids.push([{ method: liveMethod, params: live.params }]);
  const waiting = new Set(grids);
  while (waiting.size > 0) {
    const grid = cheapestOf(waiting, state);
    const done = (grids.length - waiting.size) / grids.length;
    waiting.delete(grid);
    const within = { ...state, context: scaled(context, done, done + 1 / grids.length) };
    await tryFirstThatFits(within, grid, [...waiting]);
  }
  if (state.tried.length === 0) await tryLate(state, grids.flat());
}

/** By the predicted cost of the parts that are not fitted yet, whatever the load of the machine. */
function cheapestOf(waiting: Iterable<Candidate[]>, { context, validation }: SelectState) {
  const secondsOf = ([best]: readonly Candidate[]) =>
    context.parts
      .missing(best!)
      .reduce((sum, { method, params }) => sum + method.cost(validation.train, params).seconds, 0);
  return [...waiting].reduce((least, grid) => (secondsOf(grid) < secondsOf(least) ? grid : least));
}

async function tryFirstThatFits(state: SelectState, grid: readonly Candidate[], waiting: readonly Candidate[][]) {
  const { discarded, tried } = state;
  for (const candidate of grid) {
    if (tried.some((trial) => isSameChoice(choiceOf(trial), choiceOf(candidate)))) continue;
    let reason: string | undefined;
    try {
      reason = obstacle(state, candidate);
    } catch (error) {
      discarded.push(failed(candidate, error)); // such as the live version's settings, which are from outside
      continue;
    }
    if (reason) {
      discarded.push(leftOut(candidate, reason));
      continue;
    }
    const secondsMax = secondsToFill(state, candidate, waiting);
    const trial = await tryCandidate(state, candidate, { secondsMax });
    if (trial) return addTrial(state, trial);
  }
}

/** Methods that fill their time have even parts of it with the other such methods, the tuning that follows, and the final fit. */
function secondsToFill({ context, secondsLeft }: SelectState, candidate: Candidate, waiting: readonly Candidate[][]) {
  const { parts } = context;
  const filling = [candidate, ...waiting.map(([best]) => best!)]
    .flatMap((one) => parts.missing(one))
    .filter(({ method }) => method.fillsItsTime);
  const distinct = filling.filter(
    (one, i) => filling.findIndex((other) => isSameChoice(choiceOf(other), choiceOf(one))) === i,
  );
  return Math.max(parts.secondsToFit(candidate), secondsLeft() / (distinct.length + 2));
}

/** If nothing fits the budget, the cheapest candidate has the time of the whole budget: better late than lists by popularity. */
async function tryLate(state: SelectState, candidates: readonly Candidate[]): Promise<void> {
  const { train } = state.validation;
  const { memoryMbMax } = state.context;
  const cost = ({ method, params }: Candidate, data: TrainingData = train) => method.cost(data, params);
  const possible = candidates.filter((candidate) => cost(candidate).memoryMb <= memoryMbMax);
  for (const candidate of possible.sort((a, b) => cost(a).seconds - cost(b).seconds)) {
    const secondsMax = state.secondsMax;
    const trial = await tryCandidate(state, candidate, { secondsMax, secondsHard: secondsMax });
    if (trial) return addTrial(state, trial);
  }
}
