import { POPULARITY } from "../../../shared/manifest.ts";
import { methodNamed } from "../../learn/blends.ts";
import type { TrainingData } from "../../learn/model.ts";
import { type Candidate, choiceOf, isSameChoice } from "./candidate.ts";
import { leftOut } from "./discarded.ts";
import { separateParts } from "./fitted-parts.ts";
import {
  addTrial,
  evaluationSeconds,
  isNear,
  type SelectState,
  scaled,
  secondsForNetwork,
  tryCandidate,
  withinLimits,
} from "./select-state.ts";
import { meanOf } from "./trial.ts";

/**
 * Tries the best guess of every method and standard blend, and the live version, on all training users. Where the best guess of a method
 * does not fit the budget, its next setting that does is tried.
 *
 * Networks come last, because they can use all the time that is left. Networks that read the order of a history come before the others
 * if closed forms that read it rank better, and those of the worse kind are left out if it is far from the best.
 */
export async function tryFirstGuesses(state: SelectState): Promise<void> {
  const { methods, live, validation, discarded } = state;
  const grids: Candidate[][] = Object.values(methods)
    .filter(({ name }) => name !== POPULARITY)
    .map((method) => method.grid(validation.train).map((params) => ({ method, params })))
    .filter((grid) => grid.length > 0);
  const liveMethod = live && live.method !== POPULARITY && methodNamed(live.method, methods);
  if (live && liveMethod) grids.push([{ method: liveMethod, params: live.params }]);
  const third = (i: number) => ({ ...state, context: scaled(state.context, i / 3, (i + 1) / 3) });
  const standIns = grids.filter(([best]) => namesInFor(best!, state).length > 0);
  await tryCheapestFirst(
    third(0),
    grids.filter((grid) => !isNetwork(grid[0]!) && !standIns.includes(grid)),
  );
  await tryStandIns(third(0), standIns);
  const networks = grids.filter(([best]) => isNetwork(best!));
  const isOrderFirst = valueOfKind(state, true) >= valueOfKind(state, false);
  for (const [k, kind] of [isOrderFirst, !isOrderFirst].entries()) {
    const isFar = !isNear(state, valueOfKind(state, kind));
    const own = networks.filter(([best]) => readsOrder(best!) === kind);
    const wanted = own.filter(([best]) => !isFar || isSameChoice(choiceOf(best!), live));
    for (const [best] of own.filter((grid) => !wanted.includes(grid))) discarded.push(leftOut(best!, FAR_KIND));
    await tryCheapestFirst(third(k + 1), wanted);
  }
  if (state.tried.length === 0) await tryLate(state, grids.flat());
}

/** The methods that a candidate stands in for on these data. The live version's is no stand-in. */
const namesInFor = ({ method, params }: Candidate, { live, validation }: SelectState): readonly string[] =>
  isSameChoice({ method: method.name, params }, live) ? [] : (method.standsInFor?.(validation.train) ?? []);

async function tryStandIns(state: SelectState, grids: readonly Candidate[][]): Promise<void> {
  const isTried = (name: string) => state.tried.some(({ method }) => method.name === name);
  const needed: Candidate[][] = [];
  for (const grid of grids) {
    const name = namesInFor(grid[0]!, state).find(isTried);
    if (name === undefined) needed.push(grid);
    else state.discarded.push(leftOut(grid[0]!, `left out: it stands in for ${name}, which was tried`));
  }
  await tryCheapestFirst(state, needed);
}

const FAR_KIND = "left out: closed forms that read histories in the same way are far from the best";
const isNetwork = (candidate: Candidate) => separateParts(candidate).some(({ method }) => method.fillsItsTime);
const readsOrder = (candidate: Candidate) => separateParts(candidate).some(({ method }) => method.readsOrder);

/** The best value of a trial that reads the order of a history, or of one that does not. Infinite without such a trial. */
function valueOfKind({ tried, metric }: SelectState, kind: boolean): number {
  const best = tried.find((trial) => readsOrder(trial) === kind); // the best trial is the first
  return best ? meanOf(best.evaluation, metric) : Number.POSITIVE_INFINITY;
}

/**
 * Tries the best guesses by the predicted costs of their parts that are not fitted yet: a blend is tried as soon as its parts are known.
 *
 * Once not all are expected to fit, the cheapest settings of all methods come first, so that every kind of model is tried:
 * on data with an order, a cheap sequential model beats every model that ignores the order.
 */
async function tryCheapestFirst(state: SelectState, grids: readonly Candidate[][]): Promise<void> {
  const { validation, context, secondsLeft } = state;
  const { train } = validation;
  const waiting = new Set(grids);
  let [isShort, done] = [false, 0];
  while (waiting.size > 0) {
    if (!isShort && secondsOfAll(state, waiting) > secondsLeft()) {
      isShort = true;
      for (const grid of [...waiting])
        waiting.add([grid.reduce((a, b) => (costOf(b, train) < costOf(a, train) ? b : a))]);
    }
    const grid = cheapestOf(waiting, state, isShort ? SECOND_SETTING : 1);
    waiting.delete(grid);
    const to = done + (1 - done) / (waiting.size + 1);
    await tryFirstThatFits({ ...state, context: scaled(context, done, to) }, grid);
    done = to;
  }
}

/** Where time is short, a further setting of a method must cost so many times less than a method that has not been tried. */
const SECOND_SETTING = 2;

const costOf = ({ method, params }: Candidate, train: TrainingData) => method.cost(train, params).seconds;

/** By the predicted cost, whatever the load of the machine; that of a method that was tried before counts `repeated` times. */
function cheapestOf(waiting: Iterable<Candidate[]>, state: SelectState, repeated: number) {
  const { context, validation, tried, discarded } = state;
  const known = new Set([...tried.map(({ method }) => method.name), ...discarded.map(({ method }) => method)]);
  const missingCost = ([best]: readonly Candidate[]) =>
    (known.has(best!.method.name) ? repeated : 1) *
    context.parts.missing(best!).reduce((sum, part) => sum + costOf(part, validation.train), 0);
  return [...waiting].reduce((least, grid) => (missingCost(grid) < missingCost(least) ? grid : least));
}

/** Predicted seconds of trying all best guesses, by the pace of the fits and evaluations so far. */
function secondsOfAll(state: SelectState, waiting: Iterable<readonly Candidate[]>): number {
  const { parts } = state.context;
  const missing = new Map(
    [...waiting].flatMap(([best]) => parts.missing(best!).map((part) => [JSON.stringify(choiceOf(part)), part])),
  );
  const fits = [...missing.values()].reduce((sum, part) => sum + parts.secondsToFit(part), 0);
  return fits + [...waiting].length * evaluationSeconds(state);
}

async function tryFirstThatFits(state: SelectState, grid: readonly Candidate[]): Promise<void> {
  const { discarded, tried } = state;
  for (const wanted of grid) {
    if (tried.some((trial) => isSameChoice(choiceOf(trial), choiceOf(wanted)))) return;
    if (discarded.some((one) => isSameChoice(one, choiceOf(wanted)))) continue;
    const { candidate, reason } = withinLimits(state, wanted);
    if (reason) {
      discarded.push(leftOut(candidate, reason));
      continue;
    }
    const trial = await tryCandidate(state, candidate, { secondsMax: secondsForNetwork(state, candidate) });
    if (trial) return addTrial(state, trial);
  }
}

/** If nothing fits the budget, the cheapest candidates may take the whole budget once more: a late model is better than none. */
async function tryLate(state: SelectState, candidates: readonly Candidate[]): Promise<void> {
  const { train } = state.validation;
  const { memoryMbMax, clock } = state.context;
  const end = clock() + state.secondsMax;
  const possible = candidates.filter(({ method, params }) => method.cost(train, params).memoryMb <= memoryMbMax);
  for (const candidate of possible.sort((a, b) => costOf(a, train) - costOf(b, train))) {
    const secondsMax = end - clock();
    if (secondsMax <= 0) return;
    const trial = await tryCandidate(state, candidate, { secondsMax, secondsHard: secondsMax });
    if (trial) return addTrial(state, trial);
  }
}
