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
};

const LISTS_MAX = 20_000;
const LISTS_MIN = 2000;
const EVALUATION_SECONDS_MAX = 60; // for one candidate
const EARLY_LISTS_MAX = 3000;
/** Numbers of lists for comparing settings. In steps, so that a slightly slower machine compares on the same users. */
const EARLY_LISTS = [EARLY_LISTS_MAX, 2000, 1000, 500] as const;

/**
 * Splits a dataset and orders its catalog by the training part alone. Equal scores keep the order of the catalog, so an order that knew
 * the validation part would help every candidate, and popularity most.
 */
export function validationOf(dataset: Dataset, plan: SplitPlan, halfLifeDays: number, seed: number): Validation {
  const ordered = reorderItems(dataset, popularityOrder(plan(dataset).train, halfLifeDays, seed));
  const split = plan(ordered);
  const bound = Math.floor(EVALUATION_SECONDS_MAX / secondsPerList(dataset.itemCount));
  const listsMax = Math.max(LISTS_MIN, Math.min(LISTS_MAX, bound));
  const positions = samplePositions(split.cases.count, listsMax, seededRandom(seed, 23));
  const early = samplePositions(positions.length, EARLY_LISTS_MAX, seededRandom(seed, 29));
  const { itemAttributes, userAttributes } = ordered;
  return {
    dataset: ordered,
    split,
    train: { ...split.train, itemAttributes, userAttributes },
    positions,
    earlyPositions: early.map((i) => positions[i]!),
  };
}

export type EvaluationTime = {
  /** Seconds for evaluating one candidate. */
  readonly secondsMax: number;
  /** Seconds of one list when settings are compared. Absent: the predicted seconds. */
  readonly earlySecondsPerList?: number;
  readonly seed: number;
};

/**
 * The same validation with only as many lists as there is time for: at least 2,000 for the final figures and 500 for comparing settings.
 * Many settings on few lists choose better than few settings on many lists.
 */
export function limitLists(
  validation: Validation,
  { secondsMax, earlySecondsPerList, seed }: EvaluationTime,
): Validation {
  const predicted = secondsPerList(validation.dataset.itemCount);
  const all = validation.positions;
  const listsMax = Math.min(all.length, Math.max(LISTS_MIN, Math.floor(secondsMax / predicted)));
  const affordable = secondsMax / (earlySecondsPerList ?? predicted);
  const earlyMax = EARLY_LISTS.find((count) => count <= affordable) ?? EARLY_LISTS.at(-1)!;
  if (all.length === listsMax && validation.earlyPositions.length <= earlyMax) return validation;
  const positions = samplePositions(all.length, listsMax, seededRandom(seed, 67)).map((i) => all[i]!);
  const early = samplePositions(listsMax, earlyMax, seededRandom(seed, 29));
  return { ...validation, positions, earlyPositions: early.map((i) => positions[i]!) };
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
