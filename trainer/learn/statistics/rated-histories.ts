import type { Interactions } from "../../read/dataset/dataset.ts";
import { distinctItems, type Histories, positiveHistories } from "./histories.ts";

/** Settings of a method that can learn from ratings. */
export type RatedParams = {
  /** 1: every rated item counts as its rating; absent: positive items count 1 each. */
  readonly ratings?: number;
};

/** True when the data have at least two different ratings. */
const hasRatings = ({ ratings }: Interactions): boolean =>
  ratings?.some((rating) => rating > 0 && rating !== ratings[0]) ?? false;

/** With ratings in the data, every setting learns from them, and the best guess is also tried without them. */
export const withRatings = <P extends RatedParams>(
  data: Interactions,
  [first, ...others]: readonly [P, ...P[]],
): P[] =>
  hasRatings(data)
    ? [{ ...first, ratings: 1 }, first, ...others.map((params) => ({ ...params, ratings: 1 }))]
    : [first, ...others];

/** The distinct items of each user's newest interactions, ascending; at most `newest` interactions per user. */
export const learnedSets = (data: Interactions, { ratings = 0 }: RatedParams, newest: number): Histories =>
  ratings > 0 ? ratedHistories(data, newest) : distinctItems(positiveHistories(data, newest));

/**
 * Distinct rated items, ascending. An item's value is its best rating ÷ the largest rating of all, in (0, 1]. Ratings of 0 and below
 * are left out. Low ratings are kept: the item was chosen nevertheless, and keeping it measured better (LOG.md, "Ratings").
 */
function ratedHistories(data: Interactions, newest: number): Histories {
  const { userStart, userCount, itemCount, items } = data;
  const ratings = data.ratings ?? new Float32Array(items.length);
  const largest = ratings.reduce((most, rating) => Math.max(most, rating), Number.MIN_VALUE);
  const worth = ratings.map((rating) => rating / largest); // may underflow to 0 next to an extreme rating
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
