import type { ItemIndex } from "../ids.ts";
import type { History, ScoreAt, Snapshot } from "../snapshot.ts";

/** An item of the history, and its share of all positive contributions to a score. */
export type Reason = { readonly item: ItemIndex; readonly share: number };

export const REASONS_MAX = 3;
const REASON_ITEMS_MAX = 20;
const REASON_ITEMS_MIN = 4;
/** Limit on the items scored by all runs, unless it allows fewer than `REASON_ITEMS_MIN` runs. */
const SCORED_ITEMS_MAX = 2_000_000;

/** The number of items of a history that are left out one by one. Each costs a run of the model; older ones share one run. */
export const reasonItemsMax = (itemCount: number): number =>
  Math.max(REASON_ITEMS_MIN, Math.min(REASON_ITEMS_MAX, Math.floor(SCORED_ITEMS_MAX / itemCount)));

/**
 * For each of some items, the items of the history that contributed most to its score, the largest share first. A contribution is the
 * difference that leaving the item out of the history makes, which is exact for models that add the contributions of their history.
 */
export async function reasonsFor(
  items: readonly ItemIndex[],
  history: History,
  snapshot: Pick<Snapshot, "score" | "scoreAt" | "itemCount">,
): Promise<Reason[][]> {
  const sources = [...new Set(history.items.toReversed())];
  if (sources.length === 0 || items.length === 0) return items.map(() => []);
  if (sources.length === 1) return items.map(() => [{ item: sources[0]!, share: 1 }]);
  const itemsMax = reasonItemsMax(snapshot.itemCount);
  const newest = sources.slice(0, itemsMax);
  const older = sources.slice(itemsMax);
  const groups = [...newest.map((item) => [item]), ...(older.length > 0 ? [older] : [])];
  const histories = [history, ...groups.map((left) => without(history, new Set(left)))];
  const [whole, ...rests] = await (snapshot.scoreAt ?? selecting(snapshot.score))(histories, items);
  const losses = rests.map((rest) => items.map((_, i) => Math.max(0, whole![i]! - rest[i]!))); // by group, then by item
  return items.map((_, i) => {
    const total = losses.reduce((sum, loss) => sum + loss[i]!, 0);
    const reasons = newest.map((item, at) => ({ item, share: losses[at]![i]! / total }));
    const positive = reasons.filter(({ share }) => share > 0); // also none where the total is 0
    return positive.sort((a, b) => b.share - a.share).slice(0, REASONS_MAX);
  });
}

/** Selects the scores of some items from those of all, history by history. */
export const selecting =
  (score: Snapshot["score"], release: (scores: Float32Array) => void = () => undefined): ScoreAt =>
  async (histories, items) => {
    const found: Float32Array[] = [];
    for (const history of histories) {
      const scores = await score(history);
      found.push(valuesAt(scores, items));
      release(scores);
    }
    return found;
  };

/** The scores of some items. */
const valuesAt = (scores: Float32Array, items: readonly ItemIndex[]): Float32Array =>
  Float32Array.from(items, (item) => scores[item]!);

function without({ items, agesDays }: History, left: ReadonlySet<ItemIndex>): History {
  const kept = [...items.keys()].filter((at) => !left.has(items[at]!));
  return { items: kept.map((at) => items[at]!), agesDays: kept.map((at) => agesDays[at]!) };
}
