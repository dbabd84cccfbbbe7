import type { ItemIndex } from "../ids.ts";
import type { ScoreScale } from "./score-scale.ts";

export type CompiledBoost = { readonly isMatch: (item: ItemIndex) => boolean; readonly by: number };

/** Adds each boost to the scores of the items that match it, in place. */
export function boost(scores: Float32Array, boosts: readonly CompiledBoost[], { deviation }: ScoreScale): void {
  for (const { isMatch, by } of boosts) {
    const added = by * deviation;
    for (let item = 0; item < scores.length; item++) if (isMatch(item as ItemIndex)) scores[item]! += added;
  }
}
