import type { ItemIndex } from "../ids.ts";
import type { RecipeWeighting } from "../score-recipe.ts";
import type { History } from "../snapshot.ts";

/** Very old histories keep a weight, so that they are still ranked for. */
export const HALVINGS_MAX = 20;

/** The items that a term reads of a history, each with the sum of its entries' weights. */
export function weighedItems(history: History, weighting: RecipeWeighting): Map<ItemIndex, number> {
  const { distinct, scale, window, half_life_days: halfLifeDays } = weighting;
  const weights = new Map<ItemIndex, number>();
  const { items, agesDays } = history;
  const end = Math.max(0, items.length - window);
  for (let at = items.length - 1; at >= end; at--) {
    const item = items[at]!;
    const before = weights.get(item);
    if (distinct && before !== undefined) continue; // the newest entry counts
    const byPosition = scale === null ? 1 : Math.exp((at + 1 - items.length) / scale);
    const halvings = halfLifeDays === undefined ? 0 : Math.min(HALVINGS_MAX, agesDays[at]! / halfLifeDays);
    weights.set(item, (before ?? 0) + byPosition * 2 ** -halvings);
  }
  return weights;
}
