import { POPULARITY } from "../../../shared/manifest.ts";
import { methodNamed } from "../../learn/blends.ts";
import type { TrainingData } from "../../learn/model.ts";
import { type Candidate, choiceOf, isSameChoice } from "./candidate.ts";
import { leftOut } from "./discarded.ts";
import {
  addTrial,
  evaluationSeconds,
  obstacle,
  refitSeconds,
  type SelectState,
  scaled,
  tryCandidate,
} from "./select-state.ts";

/**
 * Tries the best guess of every method and standard blend, and the live version, on all training users: the cheapest first, as long as
 * they fit the budget. Where the best guess of a method does not fit, its next setting that does is tried. Parts that were fitted before
 * cost nothing, so a blend is tried as soon as its parts are known.
 *
 * Once not all best guesses are expected to fit, the cheapest settings of all methods come first, so that every kind of model is tried:
 * on data with an order, a cheap sequential model beats every model that ignores the order.
 */
export async function tryFirstGuesses(state: SelectState): Promise<void> {
  const { methods, live, validation, context, secondsLeft } = state;
  const { train } = validation;
  const grids: Candidate[][] = Object.values(methods)
    .filter(({ name }) => name !== POPULARITY)
    .map((method) => method.grid(train).map((params) => ({ method, params })))
    .filter((grid) => grid.length > 0);
  const liveMethod = live && live.method !== POPULARITY && methodNamed(live.method, methods);
  if (live && liveMethod) grids.push([{ method: liveMethod, params: live.params }]);
  const waiting = new Set(grids);
  let [isShort, done] = [false, 0];
  while (waiting.size > 0) {
    if (!isShort && secondsOfAll(state, waiting) > secondsLeft()) {
      isShort = true;
      for (const grid of [...waiting])
        waiting.add([grid.reduce((a, b) => (costOf(b, train) < costOf(a, train) ? b : a))]);
    }
    const grid = cheapestOf(waiting, state);
    waiting.delete(grid);
    const to = done + (1 - done) / (waiting.size + 1);
    await tryFirstThatFits({ ...state, context: scaled(context, done, to) }, grid, [...waiting]);
    done = to;
  }
  if (state.tried.length === 0) await tryLate(state, grids.flat());
}

const costOf = ({ method, params }: Candidate, train: TrainingData) => method.cost(train, params).seconds;

/** By the predicted cost of the parts that are not fitted yet, whatever the load of the machine. */
function cheapestOf(waiting: Iterable<Candidate[]>, { context, validation }: SelectState) {
  const missingCost = ([best]: readonly Candidate[]) =>
    context.parts.missing(best!).reduce((sum, part) => sum + costOf(part, validation.train), 0);
  return [...waiting].reduce((least, grid) => (missingCost(grid) < missingCost(least) ? grid : least));
}

/** Predicted seconds of trying all best guesses and fitting one of them again, by the pace of the fits and evaluations so far. */
function secondsOfAll(state: SelectState, waiting: Iterable<readonly Candidate[]>): number {
  const { parts } = state.context;
  const missing = new Map(
    [...waiting].flatMap(([best]) => parts.missing(best!).map((part) => [JSON.stringify(choiceOf(part)), part])),
  );
  const fits = [...missing.values()].reduce((sum, part) => sum + parts.secondsToFit(part), 0);
  const refit = Math.max(...[...waiting].map(([best]) => refitSeconds(state, best)));
  return fits + [...waiting].length * evaluationSeconds(state) + refit;
}

async function tryFirstThatFits(state: SelectState, grid: readonly Candidate[], waiting: readonly Candidate[][]) {
  const { discarded, tried } = state;
  for (const candidate of grid) {
    if (tried.some((trial) => isSameChoice(choiceOf(trial), choiceOf(candidate)))) return;
    if (discarded.some((one) => isSameChoice(one, choiceOf(candidate)))) continue;
    const reason = obstacle(state, candidate);
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
  const possible = candidates.filter(({ method, params }) => method.cost(train, params).memoryMb <= memoryMbMax);
  for (const candidate of possible.sort((a, b) => costOf(a, train) - costOf(b, train))) {
    const secondsMax = state.secondsMax;
    const trial = await tryCandidate(state, candidate, { secondsMax, secondsHard: secondsMax });
    if (trial) return addTrial(state, trial);
  }
}
