import type { Interactions } from "../../read/dataset/dataset.ts";
import { distinctItems, type Histories, positiveHistories } from "./histories.ts";

/** Of a method that may learn from how items were rated. */
export type RatedParams = {
  /** 1: every rated item counts for as much as its rating; absent: the positive ones count alike. */
  readonly ratings?: number;
};

/** Whether items were rated in more than one way. */
const hasRatings = ({ ratings }: Interactions): boolean =>
  ratings?.some((rating) => rating > 0 && rating !== ratings[0]) ?? false;

/** Settings worth trying: learning from ratings first where there are any, and the best guess without them. */
export const withRatings = <P extends RatedParams>(
  data: Interactions,
  [first, ...others]: readonly [P, ...P[]],
): P[] =>
  hasRatings(data)
    ? [{ ...first, ratings: 1 }, first, ...others.map((own) => ({ ...own, ratings: 1 }))]
    : [first, ...others];

/** The distinct items that each user is learnt from, ascending: the newest `newest` interactions at most. */
export const taughtSets = (data: Interactions, { ratings = 0 }: RatedParams, newest: number): Histories =>
  ratings > 0 ? ratedHistories(data, newest) : distinctItems(positiveHistories(data, newest));

/**
 * Distinct rated items, ascending, each of the value of its rating ÷ the largest one, in (0, 1]; of repeats the best. Ratings of 0
 * and below teach nothing. What was rated low was chosen all the same, which says more than leaving it out (LOG.md, "Ratings").
 */
function ratedHistories(data: Interactions, newest: number): Histories {
  const { userStart, userCount, itemCount, items } = data;
  const ratings = data.ratings ?? new Float32Array(items.length);
  const largest = ratings.reduce((most, rating) => Math.max(most, rating), Number.MIN_VALUE);
  const worth = ratings.map((rating) => rating / largest); // beside the largest of floats a small one comes to 0
  const positive = Uint8Array.from(worth, (value) => (value > 0 ? 1 : 0));
  const distinct = distinctItems(positiveHistories({ ...data, positive }, newest));
  const values = new Float32Array(distinct.items.length);
  const best = new Map<number, number>();
  for (let user = 0; user < userCount; user++) {
    best.clear();
    for (let at = userStart[user]!; at < userStart[user + 1]!; at++) {
      if (worth[at]! > (best.get(items[at]!) ?? 0)) best.set(items[at]!, worth[at]!);
    }
    for (let at = distinct.start[user]!; at < distinct.start[user + 1]!; at++) {
      values[at] = best.get(distinct.items[at]!)!;
    }
  }
  return { userCount, itemCount, start: distinct.start, items: distinct.items, values };
}
