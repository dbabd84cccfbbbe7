import type { Neighbours } from "../../shared/similarity.ts";
import { coOccurrence, itemWeights } from "../learn/statistics/co-occurrence.ts";
import { distinctItems, positiveHistories } from "../learn/statistics/histories.ts";
import type { Interactions } from "../read/dataset/dataset.ts";
import { strongestOthers } from "./strongest-others.ts";

const NEIGHBOURS_MAX = 50;
/** Items from here on in the catalog's order have no neighbours: 5 MB are enough for a model that is only popularity. */
const ITEMS_MAX = 20_000;
const HISTORY_MAX = 200;
/** Beyond this number of interactions, only every second user counts, or every third, and so on. */
const INTERACTIONS_MAX = 20_000_000;
/** Added to the number of users of two items, so that a few common users of two rare items are no strong evidence. */
const SHRINKAGE = 10;

/**
 * For each item, the items that the same users chose, by the shrunk cosine: users of both ÷ (√(users of one · users of the other) + 10).
 * A popularity model tells no item from another, so its lists of similar items need this.
 */
export function coOccurringItems(data: Interactions, interactionsMax = INTERACTIONS_MAX): Neighbours {
  const everyNth = Math.max(1, Math.ceil(data.items.length / interactionsMax));
  const counts = coOccurrence(distinctItems(positiveHistories(data, HISTORY_MAX, everyNth)), 0);
  const users = itemWeights(counts);
  const itemCount = Math.min(data.itemCount, ITEMS_MAX);
  const perItem = Math.min(NEIGHBOURS_MAX, data.itemCount);
  const items = new Uint32Array(itemCount * perItem);
  const strengths = new Float32Array(itemCount * perItem);
  const strongest = strongestOthers(counts, perItem);
  for (let item = 0; item < itemCount; item++) {
    const found = strongest(item, (other, both) => both / (Math.sqrt(users[item]! * users[other]!) + SHRINKAGE));
    for (const [rank, { other, strength }] of found.entries()) {
      items[item * perItem + rank] = other;
      strengths[item * perItem + rank] = strength;
    }
  }
  return { perItem, items, strengths };
}
