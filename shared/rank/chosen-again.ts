/** What a user may want again: the items that the user has chosen before. */
import type { ItemIndex } from "../ids.ts";
import type { History } from "../snapshot.ts";
import { scoresAmong } from "./score-scale.ts";

/** How a memory fades: the odds that something is needed again fall with the square root of its age. */
const DECAY = 0.5;
/** What happened within the last hour counts as an hour old. */
const AGE_DAYS_MIN = 1 / 24;

/**
 * Scores of a catalog in which the history's items have their activation, ln Σ age^−½ over the times at which each was chosen, so that both
 * often and lately count (Anderson and Schooler, Reflections of the Environment in Memory, 1991). They are on the scale of popularity, so
 * that boosts weigh as much as elsewhere.
 */
export function chosenAgain(
  { items, agesDays }: History,
  itemCount: number,
): { scores: Float32Array; chosen: ItemIndex[] } {
  const sums = new Map<ItemIndex, number>();
  for (const [i, item] of items.entries())
    sums.set(item, (sums.get(item) ?? 0) + Math.max(AGE_DAYS_MIN, agesDays[i]!) ** -DECAY);
  const activations = new Map([...sums].map(([item, sum]) => [item, Math.log(sum)]));
  return { scores: scoresAmong(activations, itemCount), chosen: [...sums.keys()] };
}
