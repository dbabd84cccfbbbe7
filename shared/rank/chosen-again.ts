/** What a user may want again: the items that the user has chosen before. */
import type { ItemIndex } from "../ids.ts";
import type { RepeatIntervals, RepeatsOf } from "../repeat-intervals.ts";
import type { History } from "../snapshot.ts";
import { DECAY, repeatFeatures, repeatScore } from "./repeat-features.ts";
import { scoresAmong } from "./score-scale.ts";

/** Without weights, what happened within the last hour counts as an hour old. */
const AGE_DAYS_MIN = 1 / 24;

/**
 * Scores of a catalog in which the history's items have the sum of their features (repeat-features.ts), weighted as the version has
 * learnt. They are on the scale of popularity, so that boosts weigh as much as elsewhere.
 *
 * In a version without weights, the score is the activation alone, ln Σ age^−½ over the times at which the item was chosen.
 */
export function chosenAgain(
  history: History,
  itemCount: number,
  repeats?: RepeatIntervals | null,
): { scores: Float32Array; chosen: ItemIndex[] } {
  const values = repeats?.weights ? repeatScores(history, repeats, repeats.weights) : activations(history);
  return { scores: scoresAmong(values, itemCount), chosen: [...values.keys()] };
}

/** By item of a history, the weighted sum of its features. */
export function repeatScores(
  history: History,
  repeats: RepeatsOf,
  weights: readonly number[],
): ReadonlyMap<ItemIndex, number> {
  const { chosen, features } = repeatFeatures(history, repeats);
  return new Map(chosen.map((item, row) => [item, repeatScore(weights, features, row)]));
}

function activations({ items, agesDays }: History): Map<ItemIndex, number> {
  const sums = new Map<ItemIndex, number>();
  for (const [i, item] of items.entries())
    sums.set(item, (sums.get(item) ?? 0) + Math.max(AGE_DAYS_MIN, agesDays[i]!) ** -DECAY);
  return new Map([...sums].map(([item, sum]) => [item, Math.log(sum)]));
}
