import { type Histories, occurrencesOf } from "./histories.ts";

/** length^−exponent per user: how much one user's history counts. */
export function userWeights({ userCount, start }: Histories, exponent: number): Float64Array {
  const weights = new Float64Array(userCount);
  for (let user = 0; user < userCount; user++) weights[user] = (start[user + 1]! - start[user]!) ** -exponent;
  return weights;
}

const ROWS_BETWEEN_CHECKS = 256;

/**
 * The Gram matrix of distinct, ascending histories: entry (i, j) sums the weights of the users who have both items.
 * Float32Array(itemCount²), symmetric. Row by row, so that the sums of one row stay in the cache.
 */
export async function denseCoOccurrence(
  histories: Histories,
  weights: Float64Array,
  afterRows?: (share: number) => Promise<void>,
): Promise<Float32Array> {
  const { itemCount, start, items } = histories;
  const occurrences = occurrencesOf(histories);
  const gram = new Float32Array(itemCount * itemCount);
  const row = new Float64Array(itemCount);
  for (let item = 0; item < itemCount; item++) {
    row.fill(0, 0, item + 1);
    for (let o = occurrences.start[item]!; o < occurrences.start[item + 1]!; o++) {
      const user = occurrences.users[o]!;
      const weight = weights[user]!;
      // Ascending: what stands before this item has a lower index. The other half is its mirror image.
      for (let at = start[user]!; at <= occurrences.positions[o]!; at++) row[items[at]!]! += weight;
    }
    for (let other = 0; other <= item; other++) {
      gram[item * itemCount + other] = row[other]!;
      gram[other * itemCount + item] = row[other]!;
    }
    if (item % ROWS_BETWEEN_CHECKS === 0) await afterRows?.(item / itemCount);
  }
  return gram;
}
