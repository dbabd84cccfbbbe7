import type { ItemIndex } from "../ids.ts";
import type { ScoreScale } from "./score-scale.ts";

/** `by` is in standard deviations of the scores: of the items that match, or times the value of each item. */
export type CompiledBoost =
  | { readonly isMatch: (item: ItemIndex) => boolean; readonly by: number }
  | { readonly valueAt: (item: ItemIndex) => number; readonly by: number };

/** Adds each boost to the scores, in place. */
export function boost(scores: Float32Array, boosts: readonly CompiledBoost[], { deviation }: ScoreScale): void {
  for (const boost of boosts) {
    const added = boost.by * deviation;
    if ("isMatch" in boost) addTo(scores, boost.isMatch, added);
    else addValues(scores, boost.valueAt, added);
  }
}

function addTo(scores: Float32Array, isMatch: (item: ItemIndex) => boolean, added: number): void {
  for (let item = 0; item < scores.length; item++) if (isMatch(item as ItemIndex)) scores[item]! += added;
}

function addValues(scores: Float32Array, valueAt: (item: ItemIndex) => number, factor: number): void {
  for (let item = 0; item < scores.length; item++) scores[item]! += factor * valueAt(item as ItemIndex);
}
