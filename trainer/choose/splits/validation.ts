import type { TrainingData } from "../../learn/model.ts";
import { samplePositions, seededRandom } from "../../learn/numerics/seeded-random.ts";
import { popularityWithRecency } from "../../learn/popularity.ts";
import type { Dataset, Interactions } from "../../read/dataset/dataset.ts";
import { reorderItems } from "../../read/dataset/reorder-items.ts";
import { secondsPerList } from "../evaluate/evaluate.ts";
import type { SplitPlan, ValidationSplit } from "./choose-split.ts";

/** A dataset split for choosing a model: the training part, and the cases that are evaluated. */
export type Validation = {
  /** The whole dataset with its catalog in the order that the training part gives. */
  readonly dataset: Dataset;
  readonly split: ValidationSplit;
  readonly train: TrainingData;
  /** The cases of the final figures: all, or a seeded sample of very many. */
  readonly positions: Uint32Array;
  /** The cases that settings are compared on: a sample of `positions`. */
  readonly earlyPositions: Uint32Array;
  /** The cases that all kinds of models are compared on first: a sample of `earlyPositions`. */
  readonly firstPositions: Uint32Array;
};

/** Bounds of the final lists, and of the lists for comparing settings. Many settings on few lists choose better than few on many. */
const LISTS = { least: 2000, most: 20_000 };
const EARLY_LISTS = { least: 500, most: 3000 };
const FIRST_LISTS = 500;
/** Upper bound of the seconds for the final lists of one candidate, and of these seconds as a fraction of the whole budget. */
const EVALUATION_SECONDS_MAX = 60;
const EVALUATION_FRACTION = 0.05;

export type ValidationOptions = {
  /** Half-life of the popularity that orders the catalog. */
  readonly halfLifeDays: number;
  readonly seed: number;
  /** Seconds for choosing and for the refit that follows. */
  readonly secondsMax: number;
};

/**
 * Splits a dataset and orders its catalog by the training part alone. Equal scores keep the order of the catalog, so an order that knew
 * the validation part would help every candidate, and popularity most. The number of lists follows from the budget and the size of the
 * catalog, and not from the load of the machine.
 */
export function validationOf(dataset: Dataset, plan: SplitPlan, options: ValidationOptions): Validation {
  const { halfLifeDays, seed, secondsMax } = options;
  const ordered = reorderItems(dataset, popularityOrder(plan(dataset).train, halfLifeDays, seed));
  const split = plan(ordered);
  const seconds = Math.min(EVALUATION_SECONDS_MAX, EVALUATION_FRACTION * secondsMax);
  const affordable = Math.floor(seconds / secondsPerList(dataset.itemCount));
  const countOf = ({ least, most }: typeof LISTS) => Math.max(least, Math.min(most, affordable));
  const some = (of: Uint32Array, count: number, stream: number) =>
    samplePositions(of.length, count, seededRandom(seed, stream)).map((i) => of[i]!);
  const positions = samplePositions(split.cases.count, countOf(LISTS), seededRandom(seed, 23));
  const earlyPositions = some(positions, countOf(EARLY_LISTS), 29);
  const { itemAttributes, userAttributes } = ordered;
  return {
    dataset: ordered,
    split,
    train: { ...split.train, itemAttributes, userAttributes },
    positions,
    earlyPositions,
    firstPositions: some(earlyPositions, FIRST_LISTS, 67),
  };
}

/**
 * Item indices by decreasing popularity with recency: [itemCount]. Equally popular items come in a random order, because the order that
 * they had could reveal what happened later.
 */
export function popularityOrder(interactions: Interactions, halfLifeDays: number, seed: number): Int32Array {
  const popularity = popularityWithRecency(interactions, halfLifeDays);
  const rows = new Uint32Array(interactions.itemCount);
  for (const item of interactions.items) rows[item]!++;
  const random = seededRandom(seed, 31);
  const tieBreak = Float64Array.from({ length: interactions.itemCount }, random);
  const order = Int32Array.from({ length: interactions.itemCount }, (_, item) => item);
  return order.sort((a, b) => popularity[b]! - popularity[a]! || rows[b]! - rows[a]! || tieBreak[a]! - tieBreak[b]!);
}
