/** The new items that a version's extension scores, by their place in the catalog. */
import type { Catalog } from "../catalog.ts";
import type { ItemId } from "../ids.ts";
import { countOf, stringAt } from "../packed-strings.ts";
import type { FeatureRows, VersionExtension } from "./extension-file.ts";

export type PlacedItems = {
  /** At most one of this many places of a list is for a new item. */
  readonly every: number;
  /** The items that have a score, counted from the first new one on. */
  readonly items: readonly number[];
  /**
   * A score for each of `items`, from the version's scores of its own items.
   *
   * @param scores Float32Array of at least the version's items.
   * @param mean The mean of the version's items.
   */
  scoresFrom(scores: Float32Array, mean: number): Float64Array;
};

/** @param catalog The version's catalog with new items from `itemCount` on. */
export function placedItems(extension: VersionExtension, catalog: Catalog, itemCount: number): PlacedItems {
  const { ids, weights, known, featureCount, every } = extension;
  const rows: number[] = [];
  const items: number[] = [];
  for (let row = 0; row < countOf(ids); row++) {
    const item = catalog.indexOf(stringAt(ids, row) as ItemId);
    if (item === undefined || item < itemCount) continue; // withdrawn, or the version has the item
    rows.push(row);
    items.push(item - itemCount);
  }
  return {
    every,
    items,
    scoresFrom(scores, mean) {
      const liked = likedFeatures(known, scores, { mean, featureCount, itemCount });
      return Float64Array.from(rows, (row) => mean + rowTimes(weights, row, liked));
    },
  };
}

type Centre = { readonly mean: number; readonly featureCount: number; readonly itemCount: number };

/** Tᵀs: how much more than the mean the scores are for items with each feature. Scores that are not finite count as the mean. */
function likedFeatures(
  { start, features, values }: FeatureRows,
  scores: Float32Array,
  { mean, featureCount, itemCount }: Centre,
): Float64Array {
  const liked = new Float64Array(featureCount);
  const count = Math.min(start.length - 1, itemCount);
  for (let item = 0; item < count; item++) {
    const score = scores[item]! - mean;
    if (!Number.isFinite(score)) continue;
    for (let at = start[item]!; at < start[item + 1]!; at++) liked[features[at]!]! += values[at]! * score;
  }
  return liked;
}

function rowTimes({ start, features, values }: FeatureRows, row: number, vector: Float64Array): number {
  let sum = 0;
  for (let at = start[row]!; at < start[row + 1]!; at++) sum += values[at]! * vector[features[at]!]!;
  return sum;
}
