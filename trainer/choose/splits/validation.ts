import type { TrainingData } from "../../learn/model.ts";
import { samplePositions, seededRandom } from "../../learn/numerics/seeded-random.ts";
import { popularityWithRecency } from "../../learn/popularity.ts";
import type { Dataset, Interactions } from "../../read/dataset/dataset.ts";
import { reorderItems } from "../../read/dataset/reorder-items.ts";
import { secondsPerList } from "../evaluate/evaluate.ts";
import type { SplitPlan, ValidationSplit } from "./choose-split.ts";

/** A dataset parted for choosing a model: what is learnt from, and which lists are judged. */
export type Validation = {
  /** The whole dataset under the order of the catalog that the training part gives. */
  readonly dataset: Dataset;
  readonly split: ValidationSplit;
  readonly train: TrainingData;
  /** The cases of the final figures: all, or a seeded sample of very many. */
  readonly positions: Uint32Array;
  /** The cases that settings are compared on: some of `positions`. */
  readonly earlyPositions: Uint32Array;
};

const LISTS_MAX = 20_000;
const LISTS_MIN = 2000;
const JUDGE_SECONDS_MAX = 60; // of one candidate
const EARLY_LISTS_MAX = 3000;
/** What settings are compared on where time is short: in steps, so that a machine a little slower compares on the same users. */
const EARLY_LISTS = [EARLY_LISTS_MAX, 2000, 1000, 500] as const;

/**
 * The parting of a dataset, its catalog ordered by what the training part alone tells. Equal scores keep catalog order, so an
 * order that knew the validation part would help every candidate, and popularity most.
 */
export function validationOf(dataset: Dataset, plan: SplitPlan, halfLifeDays: number, seed: number): Validation {
  const ordered = reorderItems(dataset, popularityOrder(plan(dataset).train, halfLifeDays, seed));
  const split = plan(ordered);
  const bound = Math.floor(JUDGE_SECONDS_MAX / secondsPerList(dataset.itemCount));
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

export type JudgingTime = {
  /** For one candidate. */
  readonly secondsMax: number;
  /** Of making and judging one list when settings are compared; else as predicted for the final figures. */
  readonly earlySecondsPerList?: number;
  readonly seed: number;
};

/**
 * The same with only as many lists as there is time for: at least 2,000 for the final figures, and 500 for comparing settings, since
 * many settings on few lists choose better than few on many.
 */
export function judgedWithin(
  validation: Validation,
  { secondsMax, earlySecondsPerList, seed }: JudgingTime,
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
 * Item indices by falling popularity with recency: [itemCount]. Items that it holds equal come in an order drawn by lot: the order
 * that they had could tell what happened later.
 */
export function popularityOrder(interactions: Interactions, halfLifeDays: number, seed: number): Int32Array {
  const popularity = popularityWithRecency(interactions, halfLifeDays);
  const rows = new Uint32Array(interactions.itemCount);
  for (const item of interactions.items) rows[item]!++;
  const random = seededRandom(seed, 31);
  const lot = Float64Array.from({ length: interactions.itemCount }, random);
  const order = Int32Array.from({ length: interactions.itemCount }, (_, item) => item);
  return order.sort((a, b) => popularity[b]! - popularity[a]! || rows[b]! - rows[a]! || lot[a]! - lot[b]!);
}
