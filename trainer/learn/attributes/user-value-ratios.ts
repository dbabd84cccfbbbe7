import { headCountFor, type UserValueRatios } from "../../../shared/user-values.ts";
import type { Interactions } from "../../read/dataset/dataset.ts";
import type { UserCodes } from "../../read/dataset/user-value-table.ts";

/** Counts of choices by item and by the values of users' attributes. An item counts once per user. */
export type ValueStatistics = {
  readonly itemCount: number;
  readonly valueCount: number;
  /** Number of most popular items for which value–item pairs are counted. */
  readonly headCount: number;
  /** All choices: distinct user–item pairs with a positive interaction. */
  readonly chosen: number;
  /** Choices of each item. */
  readonly ofItem: Float64Array; // [itemCount]
  /** Choices by users who have the value. */
  readonly ofValue: Float64Array; // [valueCount]
  readonly pairs: Float32Array; // [valueCount * headCount] row-major
};

export type ValueRatioParams = {
  /** Number of pseudo-choices added to both the observed and the expected count: rare items move less. */
  readonly shrink: number;
  /** Power of the ratios. Below 1 because values are correlated, and naive Bayes would count shared information twice. */
  readonly weight: number;
};

/** Settings worth trying, the best guess first. */
export const VALUE_RATIO_GRID: readonly ValueRatioParams[] = [30, 10, 100].flatMap((shrink) =>
  [0.75, 0.5, 1, 0.25].map((weight) => ({ shrink, weight })),
);

/** Counts positive interactions by item and value. The catalog must be ordered by popularity. */
export function countValues(data: Interactions, { start, codes }: UserCodes, valueCount: number): ValueStatistics {
  const { userCount, itemCount, userStart, items, positive } = data;
  const headCount = headCountFor(itemCount, valueCount);
  const [ofItem, ofValue] = [new Float64Array(itemCount), new Float64Array(valueCount)];
  const pairs = new Float32Array(valueCount * headCount);
  const lastUser = new Int32Array(itemCount).fill(-1);
  let chosen = 0;
  for (let user = 0; user < userCount; user++) {
    const values = codes.subarray(start[user], start[user + 1]);
    for (let row = userStart[user]!; row < userStart[user + 1]!; row++) {
      const item = items[row]!;
      if (!positive[row] || lastUser[item] === user) continue;
      lastUser[item] = user;
      chosen++;
      ofItem[item]!++;
      for (const value of values) {
        ofValue[value]!++;
        if (item < headCount) pairs[value * headCount + item]!++;
      }
    }
  }
  return { itemCount, valueCount, headCount, chosen, ofItem, ofValue, pairs };
}

/**
 * Log popularity, and for each value weight · log((c + shrink) / (e + shrink)), where c is the number of choices by users with the
 * value and e the number expected if they chose as everybody does (a Gamma prior with mean 1 on the ratio).
 *
 * @param popularity Float64Array(itemCount) that orders the catalog; it may decay with age.
 * @param values The values that get ratios, in the order of their new codes.
 */
export function userValueRatios(
  { itemCount, headCount, chosen, ofItem, ofValue, pairs }: ValueStatistics,
  popularity: Float64Array,
  { values, shrink, weight }: ValueRatioParams & { readonly values: readonly number[] },
): UserValueRatios {
  const ratios = values.map((value) => {
    const expectedFraction = ofValue[value]! / Math.max(1, chosen);
    const row = pairs.subarray(value * headCount, (value + 1) * headCount);
    return row.map((count, item) => weight * Math.log((count + shrink) / (ofItem[item]! * expectedFraction + shrink)));
  });
  return { itemCount, base: logPopularity(popularity, chosen).slice(0, headCount), ratios };
}

/** Adds half a choice to each item, so that unchosen items have a logarithm. Non-increasing, as the catalog's order is. */
function logPopularity(popularity: Float64Array, chosen: number): Float32Array {
  const sum = popularity.reduce((total, count) => total + count, 0);
  const half = sum > 0 ? sum / (2 * chosen) : 0.5;
  let least = Number.POSITIVE_INFINITY;
  return Float32Array.from(popularity, (count) => {
    least = Math.min(least, Math.log(count + half));
    return least;
  });
}
