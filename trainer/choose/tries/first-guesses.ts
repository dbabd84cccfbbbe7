import { POPULARITY } from "../../../shared/manifest.ts";
import { methodNamed } from "../../learn/blends.ts";
import type { TrainingData } from "../../learn/model.ts";
import { type Candidate, type Choice, choiceOf, isSameChoice } from "./candidate.ts";
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
 * Networks come last, because they can use all the time that is left. Those that read histories as the best closed forms do come before
 * the others, and those of a kind that is far from the best are left out. Further closed forms of such a kind come after the networks.
 */
export async function tryFirstGuesses(state: SelectState): Promise<void> {
  const { methods, live, validation, discarded } = state;
  const grids: Candidate[][] = Object.values(methods)
    .filter(({ name }) => name !== POPULARITY)
    .map((method) => method.grid(validation.train).map((params) => ({ method, params })))
    .filter((grid) => grid.length > 0);
  const liveMethod = live && live.method !== POPULARITY && methodNamed(live.method, methods);
  if (live && liveMethod) grids.push([{ method: liveMethod, params: live.params }]);
  const part = (i: number) => ({ ...state, context: scaled(state.context, i / PARTS, (i + 1) / PARTS) });
  const networks = grids.filter(([best]) => isNetwork(best!));
  const closedForms = grids.filter((grid) => !networks.includes(grid));
  const bestGuesses = grids.map(([best]) => choiceOf(best!));
  const isFar = (candidate: Candidate) => isOfFarKind(candidate, state, bestGuesses);
  const far = await tryClosedForms(part(0), closedForms, isFar);
  const kinds = [...KINDS].sort((a, b) => valueOfKind(state, b) - valueOfKind(state, a));
  for (const [k, kind] of kinds.entries()) {
    const own = networks.filter(([best]) => kindOf(best!) === kind);
    for (const [best] of await tryCheapestFirst(part(1 + k), own, isFar)) discarded.push(leftOut(best!, FAR_KIND));
  }
  const spared = state.secondsLeft() / 2;
  const secondsLeft = () => Math.max(0, state.secondsLeft() - spared);
  await tryClosedForms({ ...part(1 + KINDS.length), secondsLeft }, far, () => false);
  if (state.tried.length === 0) await tryLate(state, grids.flat());
}

/** The methods that a candidate stands in for on these data. The live version's is no stand-in. */
const namesInFor = ({ method, params }: Candidate, { live, validation }: SelectState): readonly string[] =>
  isSameChoice({ method: method.name, params }, live) ? [] : (method.standsInFor?.(validation.train) ?? []);

type PassedOver = (candidate: Candidate) => boolean;

/** As `tryCheapestFirst`, with stand-ins after all others, where they are needed. */
async function tryClosedForms(state: SelectState, grids: readonly Candidate[][], isPassedOver: PassedOver) {
  const isTried = (name: string) => state.tried.some(({ method }) => method.name === name);
  const standIns = grids.filter(([best]) => namesInFor(best!, state).length > 0);
  const others = grids.filter((grid) => !standIns.includes(grid));
  const passedOver = await tryCheapestFirst(state, others, isPassedOver);
  const needed: Candidate[][] = [];
  for (const grid of standIns) {
    const name = namesInFor(grid[0]!, state).find(isTried);
    if (name === undefined) needed.push(grid);
    else state.discarded.push(leftOut(grid[0]!, `left out: it stands in for ${name}, which was tried`));
  }
  return [...passedOver, ...(await tryCheapestFirst(state, needed, isPassedOver))];
}

const FAR_KIND = "left out: closed forms that read histories in the same way are far from the best";
const isNetwork = (candidate: Candidate) => separateParts(candidate).some(({ method }) => method.fillsItsTime);

/** What a method takes a history for, the most specific first. */
const KINDS = ["session", "sequence", "set"] as const;
/** Parts of the progress: closed forms, the networks of each kind, and closed forms that were passed over. */
const PARTS = KINDS.length + 2;
const kindOf = (candidate: Candidate) =>
  KINDS.find((kind) => separateParts(candidate).some(({ method }) => (method.reads ?? "set") === kind))!;

const trialsOf = ({ tried }: SelectState, kind: (typeof KINDS)[number]) =>
  tried.filter((trial) => kindOf(trial) === kind);

/** The best value of a trial of a kind. Infinite without such a trial. */
function valueOfKind(state: SelectState, kind: (typeof KINDS)[number]): number {
  const [best] = trialsOf(state, kind); // the best trial is the first
  return best ? meanOf(best.evaluation, state.metric) : Number.POSITIVE_INFINITY;
}

/**
 * Whether trials of the same kind rank far below the best. A closed form needs two to show it, one of them a best guess: cheaper settings
 * may rank far below it. The live version is tried in any case.
 */
function isOfFarKind(candidate: Candidate, state: SelectState, bestGuesses: readonly Choice[]): boolean {
  const kind = kindOf(candidate);
  if (isNear(state, valueOfKind(state, kind)) || isSameChoice(choiceOf(candidate), state.live)) return false;
  const trials = trialsOf(state, kind).map(choiceOf);
  const isBestGuess = (choice: Choice) => bestGuesses.some((best) => isSameChoice(best, choice));
  return isNetwork(candidate) || (trials.length > 1 && trials.some(isBestGuess));
}

/**
 * Tries the best guesses by the predicted costs of their parts that are not fitted yet: a blend is tried as soon as its parts are known.
 *
 * Once not all are expected to fit, the cheapest settings of all methods come first, so that every kind of model is tried:
 * on data with an order, a cheap sequential model beats every model that ignores the order.
 *
 * @returns What was passed over.
 */
async function tryCheapestFirst(
  state: SelectState,
  grids: readonly Candidate[][],
  isPassedOver: PassedOver,
): Promise<readonly Candidate[][]> {
  const { validation, context, secondsLeft } = state;
  const { train } = validation;
  const [waiting, passedOver] = [new Set(grids), new Set<Candidate[]>()];
  let [isShort, done] = [false, 0];
  while (true) {
    for (const grid of waiting) if (isPassedOver(grid[0]!)) passedOver.add(grid);
    for (const grid of passedOver) waiting.delete(grid);
    if (waiting.size === 0) return [...passedOver];
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

/**
 * By the predicted cost, whatever the load of the machine; that of a method that was tried before counts `repeated` times. Kinds that
 * have not been tried come first, because they show which kind is far from the best.
 */
function cheapestOf(waiting: Iterable<Candidate[]>, state: SelectState, repeated: number) {
  const { context, validation, tried, discarded } = state;
  const known = new Set([...tried.map(({ method }) => method.name), ...discarded.map(({ method }) => method)]);
  const missingCost = ([best]: readonly Candidate[]) =>
    (known.has(best!.method.name) ? repeated : 1) *
    context.parts.missing(best!).reduce((sum, part) => sum + costOf(part, validation.train), 0);
  const isNewKind = ([best]: readonly Candidate[]) => trialsOf(state, kindOf(best!)).length === 0;
  const grids = [...waiting];
  const newKinds = grids.filter(isNewKind);
  return (newKinds.length > 0 ? newKinds : grids).reduce((a, b) => (missingCost(b) < missingCost(a) ? b : a));
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
