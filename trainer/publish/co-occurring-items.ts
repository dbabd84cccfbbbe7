import type { Neighbours } from "../../shared/similarity.ts";
import { topK } from "../../shared/top-k.ts";
import { addCoOccurrences, coOccurrence, itemWeights } from "../learn/statistics/co-occurrence.ts";
import { distinctItems, positiveHistories } from "../learn/statistics/histories.ts";
import { clearRow, rowSum } from "../learn/weights/row-sum.ts";
import type { Interactions } from "../read/dataset/dataset.ts";

const NEIGHBOURS_MAX = 50;
/** Items from here on in the catalog's order have no neighbours: 5 MB are enough for a model that is only popularity. */
const ITEMS_MAX = 20_000;
const HISTORY_MAX = 200;
/** Added to the number of users of two items, so that a few common users of two rare items are no strong evidence. */
const SHRINKAGE = 10;

/**
 * For each item, the items that the same users chose, by the shrunk cosine: users of both ÷ (√(users of one · users of the other) + 10).
 * A popularity model tells no item from another, so its lists of similar items need this.
 */
export function coOccurringItems(data: Interactions): Neighbours {
  const counts = coOccurrence(distinctItems(positiveHistories(data, HISTORY_MAX)), 0);
  const users = itemWeights(counts);
  const itemCount = Math.min(data.itemCount, ITEMS_MAX);
  const perItem = Math.min(NEIGHBOURS_MAX, data.itemCount);
  const items = new Uint32Array(itemCount * perItem);
  const strengths = new Float32Array(itemCount * perItem);
  const row = rowSum(data.itemCount);
  const scratch = new Float32Array(data.itemCount);
  for (let item = 0; item < itemCount; item++) {
    addCoOccurrences(counts, item, row, "whole");
    const others = row.touched.subarray(0, row.count).sort();
    const found = scratch.subarray(0, row.count);
    for (const [at, other] of others.entries())
      found[at] = row.values[other]! / (Math.sqrt(users[item]! * users[other]!) + SHRINKAGE);
    const best = topK(found, perItem, (at) => others[at] !== item);
    items.set(
      best.map((at) => others[at]!),
      item * perItem,
    );
    strengths.set(
      best.map((at) => found[at]!),
      item * perItem,
    );
    clearRow(row);
  }
  return { perItem, items, strengths };
}
