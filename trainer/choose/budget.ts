import type { Method, Params } from "../learn/model.ts";
import type { Dataset } from "../read/dataset/dataset.ts";
import { interactionBytes, sampleUsers } from "./splits/sample-users.ts";

export type DataBudget = { readonly memoryMbMax: number; readonly seed: number };

export type DataForChoosing = {
  readonly dataset: Dataset;
  /** What is left for a fit. */
  readonly memoryMbMax: number;
  /** For the report, when not all users are in it. */
  readonly warning: string | undefined;
};

/** Interactions that methods are compared on for each MB of a run: more tell nothing new about which method is better. */
const ROWS_PER_MB = 5000;
/** A parted dataset is there up to so often: its catalog ordered, what is learnt from, and both again under another order. */
const COPIES = 3;

/** The dataset that methods are compared on: as it is, or of very many interactions those of users drawn by lot. */
export function dataForChoosing(whole: Dataset, { memoryMbMax, seed }: DataBudget): DataForChoosing {
  const dataset = sampleUsers(whole, (memoryMbMax * ROWS_PER_MB) / Math.max(1, whole.items.length), seed);
  const heldMb = (interactionBytes(whole) + COPIES * interactionBytes(dataset)) / 1e6;
  const left = Math.max(0, memoryMbMax - heldMb);
  if (dataset === whole) return { dataset, memoryMbMax: left, warning: undefined };
  const counts = `${dataset.userCount} of ${whole.userCount} users, with ${dataset.items.length} interactions`;
  const warning = `Methods were compared on ${counts}, drawn by lot, to keep to the run's memory.`;
  return { dataset, memoryMbMax: left, warning };
}

export type FitToBound = { readonly method: Method; readonly params: Params };

/** Fewer users say too little: a fit is then tried with what there is. */
const USERS_LEAST = 1000;

/**
 * What the chosen method can learn from within the memory and the seconds: the dataset, or half of its users, a quarter, …
 *
 * @param secondsHard When the fit would be stopped.
 */
export function dataForFit(
  { method, params }: FitToBound,
  whole: Dataset,
  { memoryMbMax, seed, secondsHard }: DataBudget & { readonly secondsHard: number },
): Dataset {
  const leftMb = Math.max(0, memoryMbMax - (2 * interactionBytes(whole)) / 1e6);
  let data = whole;
  for (let share = 0.5; data.userCount > USERS_LEAST; share /= 2) {
    const { memoryMb, seconds } = method.cost(data, params);
    const ownMb = data === whole ? 0 : interactionBytes(data) / 1e6;
    if (memoryMb + ownMb <= leftMb && seconds <= secondsHard) return data;
    data = sampleUsers(whole, share, seed);
  }
  return data;
}

/** What small data are given at most: more changes nothing. */
const SECONDS_LEAST = 900;
/** A trained network learns from each interaction some twenty times, for the choice and once more on all data. */
const SECONDS_PER_INTERACTION = 4.5e-3;

/**
 * Seconds for choosing a model: a quarter of an hour for little data, more for more, where networks begin to pay.
 *
 * @param secondsMax What the operator allows.
 */
export const fitSeconds = (interactions: number, secondsMax: number): number =>
  Math.min(secondsMax, Math.max(SECONDS_LEAST, Math.round(SECONDS_PER_INTERACTION * interactions)));
