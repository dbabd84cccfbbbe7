import type { Method, Params } from "../learn/model.ts";
import type { Dataset } from "../read/dataset/dataset.ts";
import { interactionBytes, sampleUsers } from "./splits/sample-users.ts";

export type DataBudget = { readonly memoryMbMax: number; readonly seed: number };

export type DataForChoosing = {
  readonly dataset: Dataset;
  /** Memory that remains for a fit. */
  readonly memoryMbMax: number;
  /** A warning for the report when the dataset is a sample of the users. */
  readonly warning: string | undefined;
};

/** Interactions for each MB of the run's memory. More interactions do not change which method is better. */
const ROWS_PER_MB = 5000;
/** Interactions for each second of the choice. With twice as many, no personal method can be tried (LOG.md, "A run within its memory"). */
const ROWS_PER_SECOND = 30_000;
/** Data are large beyond this number of interactions. The time for choosing never bounds them to fewer. */
const ROWS_ALWAYS = 1_000_000;
/** Copies of the dataset that a selection holds: with its ordered catalog, its training part, and both under a second order. */
const COPIES = 3;

export type ChoiceBudget = DataBudget & { /** Seconds for choosing. */ readonly secondsMax: number };

/** The number of interactions that a choice can compare methods on. */
export const rowsForChoosing = ({ memoryMbMax, secondsMax }: Pick<ChoiceBudget, "memoryMbMax" | "secondsMax">) =>
  Math.min(memoryMbMax * ROWS_PER_MB, Math.max(ROWS_ALWAYS, secondsMax * ROWS_PER_SECOND));

/** The dataset that methods are compared on: the whole one, or a random sample of the users of a very large one. */
export function dataForChoosing(whole: Dataset, budget: ChoiceBudget): DataForChoosing {
  const { memoryMbMax, seed } = budget;
  const dataset = sampleUsers(whole, rowsForChoosing(budget) / Math.max(1, whole.items.length), seed);
  const heldMb = (interactionBytes(whole) + COPIES * interactionBytes(dataset)) / 1e6;
  const left = Math.max(0, memoryMbMax - heldMb);
  if (dataset === whole) return { dataset, memoryMbMax: left, warning: undefined };
  const counts = `${dataset.userCount} of ${whole.userCount} users, with ${dataset.items.length} interactions`;
  const warning = `Methods were compared on ${counts}, drawn at random, to keep to the run's memory and time.`;
  return { dataset, memoryMbMax: left, warning };
}

export type FitToBound = { readonly method: Method; readonly params: Params };

/** The sample of users is not made smaller than this; the fit is then tried although it is predicted not to fit. */
const USERS_MIN = 1000;

/** Part of the timeout that a fit on large data is planned for: methods may have been compared on a small part of them. */
const LARGE_FIT_FRACTION = 0.5;

export type FitBudget = DataBudget & {
  /** MB that the process has left beyond what it really holds. Absent: as `memoryMbMax` says. */
  readonly memoryMbFree?: (() => number) | undefined;
  /** Timeout of the fit. */
  readonly secondsHard: number;
};

/** The data that the chosen method can learn from within the memory and the seconds: all users, or a half, a quarter, … of the users. */
export function dataForFit(
  { method, params }: FitToBound,
  whole: Dataset,
  { memoryMbMax, memoryMbFree, seed, secondsHard }: FitBudget,
): Dataset {
  const leftMb = Math.max(0, memoryMbFree?.() ?? memoryMbMax - (2 * interactionBytes(whole)) / 1e6);
  const secondsPlanned = whole.items.length > ROWS_ALWAYS ? LARGE_FIT_FRACTION * secondsHard : secondsHard;
  let data = whole;
  for (let fraction = 0.5; data.userCount > USERS_MIN; fraction /= 2) {
    const { memoryMb, seconds } = method.cost(data, params);
    const ownMb = data === whole ? 0 : interactionBytes(data) / 1e6;
    if (memoryMb + ownMb <= leftMb && seconds <= secondsPlanned) return data;
    data = sampleUsers(whole, fraction, seed);
  }
  return data;
}

/** Enough for a small dataset: more seconds change nothing. */
const SECONDS_MIN = 900;
/** A network needs about twenty passes over the interactions, once for the choice and once more for the refit on all data. */
const SECONDS_PER_INTERACTION = 4.5e-3;

/**
 * Seconds for choosing a model: a quarter of an hour for a small dataset, more for a larger one, where networks begin to pay.
 *
 * @param secondsMax Upper bound by the operator.
 */
export const fitSeconds = (interactions: number, secondsMax: number): number =>
  Math.min(secondsMax, Math.max(SECONDS_MIN, Math.round(SECONDS_PER_INTERACTION * interactions)));

/** Seconds of the final fit as a fraction of those for choosing: more than any candidate had, because it learns from more data. */
export const FINAL_FIT_FRACTION = 2 / 3;

/** Seconds of the final fit: its own, and what the choice left, since a network that was cut short gains by more. */
export const secondsForFinalFit = ({ budget, used }: { readonly budget: number; readonly used: number }): number =>
  FINAL_FIT_FRACTION * budget + Math.max(0, budget - used);
