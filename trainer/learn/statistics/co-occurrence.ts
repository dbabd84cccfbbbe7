import type { Interactions } from "../../read/dataset/dataset.ts";
import { clearRow, type RowSum, rowSum } from "../weights/row-sum.ts";
import { type Histories, type Occurrences, occurrencesOf } from "./histories.ts";

/** Distinct, ascending histories and user weights, from which the rows of the Gram matrix are computed. */
export type CoOccurrence = {
  readonly histories: Histories;
  readonly occurrences: Occurrences;
  readonly weights: Float64Array; // [userCount]
};

/** A user with n items has the weight n^−exponent, and 0 without items. `histories` must be distinct and ascending. */
export function coOccurrence(histories: Histories, exponent: number): CoOccurrence {
  const { userCount, start } = histories;
  const weights = new Float64Array(userCount);
  for (let user = 0; user < userCount; user++) {
    const length = start[user + 1]! - start[user]!;
    weights[user] = length === 0 ? 0 : length ** -exponent;
  }
  return { histories, occurrences: occurrencesOf(histories), weights };
}

/**
 * Adds row `item` of the Gram matrix: for each column, the sum over the users who have both items of the user's weight times both
 * entries' values. `lower`: only columns up to the item itself. A row is completed at once, so that its sums stay in the CPU cache.
 */
export function addCoOccurrences(
  { histories, occurrences, weights }: CoOccurrence,
  item: number,
  into: RowSum,
  part: "lower" | "whole",
): void {
  const { start, items, values: counts } = histories;
  const { values, touched } = into;
  for (let o = occurrences.start[item]!; o < occurrences.start[item + 1]!; o++) {
    const user = occurrences.users[o]!;
    const weight = weights[user]! * (counts?.[occurrences.positions[o]!] ?? 1);
    const end = part === "lower" ? occurrences.positions[o]! + 1 : start[user + 1]!; // histories are ascending
    for (let at = start[user]!; at < end; at++) {
      const column = items[at]!;
      if (values[column] === 0) touched[into.count++] = column;
      values[column]! += counts ? weight * counts[at]! : weight;
    }
  }
}

const ROWS_BETWEEN_REPORTS = 256;

/** Computes the rows of the Gram matrix one after the other. `use` must not keep the row. `report` gets the fraction done, 0…1. */
export async function forEachRow(
  counts: CoOccurrence,
  part: "lower" | "whole",
  use: (item: number, row: RowSum) => void,
  report: (fraction: number) => Promise<void>,
): Promise<void> {
  const { itemCount } = counts.histories;
  const row = rowSum(itemCount);
  for (let item = 0; item < itemCount; item++) {
    addCoOccurrences(counts, item, row, part);
    use(item, row);
    clearRow(row);
    if (item % ROWS_BETWEEN_REPORTS === 0) await report(item / itemCount);
  }
}

/**
 * Weighted number of users of each item. Power 2 gives the diagonal of the Gram matrix, power 1 its column for a constant feature.
 * Float64Array(itemCount)
 */
export function itemWeights({ histories, weights }: CoOccurrence, power: 1 | 2 = 2): Float64Array {
  const sums = new Float64Array(histories.itemCount);
  for (let user = 0; user < histories.userCount; user++) {
    for (let at = histories.start[user]!; at < histories.start[user + 1]!; at++) {
      sums[histories.items[at]!]! += weights[user]! * (histories.values?.[at] ?? 1) ** power;
    }
  }
  return sums;
}

/** Number of entry pairs that counting visits, for cost predictions. Histories are cut to their `newest` entries. */
export function pairsOf({ userStart }: Interactions, newest: number): number {
  let pairs = 0;
  for (let user = 1; user < userStart.length; user++) {
    pairs += Math.min(newest, userStart[user]! - userStart[user - 1]!) ** 2;
  }
  return pairs;
}
