import { headCountFor, type UserValueRatios } from "../../../shared/user-values.ts";
import type { Interactions } from "../../read/dataset/dataset.ts";
import type { UserCodes } from "../../read/dataset/user-value-table.ts";

/** Who chose what, by the values of users. An item counts once for each user, whatever the number of interactions. */
export type ValueStatistics = {
  readonly itemCount: number;
  readonly valueCount: number;
  /** Items of the catalog's head, of which pairs are counted. */
  readonly headCount: number;
  readonly chosen: number;
  readonly ofItem: Float64Array; // [itemCount]
  readonly ofValue: Float64Array; // [valueCount]
  readonly pairs: Float32Array; // [valueCount * headCount] row-major
};

export type ValueRatioParams = {
  /** Choices as many as everybody's are added to those of a value, for each item: what is rare is believed less. */
  readonly shrink: number;
  /** Ratios are taken to this power: values say partly the same, and naive Bayes would count it twice. */
  readonly weight: number;
};

/** Settings worth trying, the best guess first. */
export const VALUE_RATIO_GRID: readonly ValueRatioParams[] = [30, 10, 100].flatMap((shrink) =>
  [0.75, 0.5, 1, 0.25].map((weight) => ({ shrink, weight })),
);

/** Positive interactions by item and value. The catalog must be in the order of popularity. */
export function countValues(data: Interactions, { start, codes }: UserCodes, valueCount: number): ValueStatistics {
  const { userCount, itemCount, userStart, items, positive } = data;
  const headCount = headCountFor(itemCount, valueCount);
  const [ofItem, ofValue] = [new Float64Array(itemCount), new Float64Array(valueCount)];
  const pairs = new Float32Array(valueCount * headCount);
  const lastUser = new Int32Array(itemCount).fill(-1);
  let chosen = 0;
  for (let user = 0; user < userCount; user++) {
    const own = codes.subarray(start[user], start[user + 1]);
    for (let row = userStart[user]!; row < userStart[user + 1]!; row++) {
      const item = items[row]!;
      if (!positive[row] || lastUser[item] === user) continue;
      lastUser[item] = user;
      chosen++;
      ofItem[item]!++;
      for (const value of own) {
        ofValue[value]!++;
        if (item < headCount) pairs[value * headCount + item]!++;
      }
    }
  }
  return { itemCount, valueCount, headCount, chosen, ofItem, ofValue, pairs };
}

/**
 * What values say of items: log popularity, and for each value weight · log((c + shrink) / (e + shrink)), where c counts the
 * choices by users of the value and e those expected if they chose as everybody does (a Gamma prior of mean 1 on the ratio).
 *
 * @param popularity Float64Array(itemCount), the order of the catalog; it may fade with time.
 * @param values Which values, in the order of their codes.
 */
export function userValueRatios(
  { itemCount, headCount, chosen, ofItem, ofValue, pairs }: ValueStatistics,
  popularity: Float64Array,
  { values, shrink, weight }: ValueRatioParams & { readonly values: readonly number[] },
): UserValueRatios {
  const ratios = values.map((value) => {
    const expectedShare = ofValue[value]! / Math.max(1, chosen);
    const row = pairs.subarray(value * headCount, (value + 1) * headCount);
    return row.map((count, item) => weight * Math.log((count + shrink) / (ofItem[item]! * expectedShare + shrink)));
  });
  return { itemCount, base: logPopularity(popularity, chosen).slice(0, headCount), ratios };
}

/** As if half a choice more had been made of each item, so that what nobody chose has a logarithm. Never rising, as the catalog. */
function logPopularity(popularity: Float64Array, chosen: number): Float32Array {
  const sum = popularity.reduce((total, own) => total + own, 0);
  const half = sum > 0 ? sum / (2 * chosen) : 0.5;
  let least = Number.POSITIVE_INFINITY;
  return Float32Array.from(popularity, (own) => {
    least = Math.min(least, Math.log(own + half));
    return least;
  });
}
