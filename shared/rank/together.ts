/** What is chosen in addition to the items of a basket. */
import type { ItemIndex } from "../ids.ts";
import type { Snapshot } from "../snapshot.ts";
import type { Together } from "../together.ts";
import { REASONS_MAX, type Reason } from "./reasons.ts";
import { scoresAmong } from "./score-scale.ts";

/**
 * Scores of the items that go with those of the basket, by the sum of their strengths, and these items. Undefined if there are none, as
 * in a version whose data have no baskets.
 */
export function togetherScores(
  basket: readonly ItemIndex[],
  { together, itemCount, newCount = 0 }: Snapshot,
): { readonly scores: Float32Array; readonly only: ItemIndex[] } | undefined {
  if (!together) return undefined;
  const strengths = new Map<ItemIndex, number>();
  for (const item of new Set(basket))
    together.forEachOther(item, (other, strength) => strengths.set(other, (strengths.get(other) ?? 0) + strength));
  for (const item of basket) strengths.delete(item);
  if (strengths.size === 0) return undefined;
  const logarithms = new Map([...strengths].map(([item, strength]) => [item, Math.log(strength)]));
  return { scores: scoresAmong(logarithms, itemCount + newCount), only: [...strengths.keys()] };
}

/** For each item, the items of the basket that it goes with, and their shares of its strength. */
export function togetherReasons(
  items: readonly ItemIndex[],
  basket: readonly ItemIndex[],
  together: Together,
): Reason[][] {
  const strengthsOf = new Map<ItemIndex, Map<ItemIndex, number>>();
  for (const source of new Set(basket)) {
    const own = new Map<ItemIndex, number>();
    together.forEachOther(source, (other, strength) => own.set(other, strength));
    strengthsOf.set(source, own);
  }
  return items.map((item) => {
    const found = [...strengthsOf].map(([source, own]) => ({ item: source, strength: own.get(item) ?? 0 }));
    const total = found.reduce((sum, { strength }) => sum + strength, 0);
    const reasons = found.map(({ item, strength }) => ({ item, share: strength / total }));
    return reasons
      .filter(({ share }) => share > 0)
      .sort((a, b) => b.share - a.share)
      .slice(0, REASONS_MAX);
  });
}
