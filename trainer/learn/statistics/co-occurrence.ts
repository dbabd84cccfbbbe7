import type { Interactions } from "../../read/dataset/dataset.ts";
import type { RowSum } from "../weights/row-sum.ts";
import { type Histories, type Occurrences, occurrencesOf } from "./histories.ts";

/** Who chose what with what: distinct, ascending histories, and the weight of each user. */
export type CoOccurrence = {
  readonly histories: Histories;
  readonly occurrences: Occurrences;
  readonly weights: Float64Array; // [userCount]
};

/** A user of n items weighs n^−exponent, one of none nothing. `histories` are distinct and ascending. */
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
 * Adds row `item` of the Gram matrix: the weights of the users who have both items, the item itself among them, times what both
 * entries count.
 * `lower`: only columns up to the item. A row is summed at once, so that its sums stay in the cache.
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
    const end = part === "lower" ? occurrences.positions[o]! + 1 : start[user + 1]!; // histories ascend
    for (let at = start[user]!; at < end; at++) {
      const column = items[at]!;
      if (values[column] === 0) touched[into.count++] = column;
      values[column]! += counts ? weight * counts[at]! : weight;
    }
  }
}

/** Users of each item, weighed: the diagonal of the Gram matrix, or with power 1 its column of a constant. Float64Array(itemCount) */
export function itemWeights({ histories, weights }: CoOccurrence, power: 1 | 2 = 2): Float64Array {
  const sums = new Float64Array(histories.itemCount);
  for (let user = 0; user < histories.userCount; user++) {
    for (let at = histories.start[user]!; at < histories.start[user + 1]!; at++) {
      sums[histories.items[at]!]! += weights[user]! * (histories.values?.[at] ?? 1) ** power;
    }
  }
  return sums;
}

/** How many pairs of entries the counting goes through, of histories of at most `newest` entries each: for predictions. */
export function pairsOf({ userStart }: Interactions, newest: number): number {
  let pairs = 0;
  for (let user = 1; user < userStart.length; user++) {
    pairs += Math.min(newest, userStart[user]! - userStart[user - 1]!) ** 2;
  }
  return pairs;
}
