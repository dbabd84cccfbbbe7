import type { ScoreRecipe, StoredRecipe } from "../score-recipe.ts";
import type { Asked, FewScores } from "./asked-scores.ts";
import { spreadFrom } from "./catalog-moments.ts";
import { fewLinear } from "./few-linear.ts";
import { fewPooled } from "./few-pooled.ts";
import { type BytesOf, recipeFiles } from "./recipe-files.ts";

/**
 * The scores of some items for several histories, from a version's recipe: those of the scoring graph, except for rounding, and NaN for
 * items that the version does not have. Undefined if they cannot be computed without scoring all items.
 *
 * @param bytesOf The version's weight files.
 */
export function fewScores(
  { recipe, arrays }: StoredRecipe,
  asked: Pick<Asked, "histories" | "items" | "itemCount">,
  bytesOf: BytesOf,
): readonly Float64Array[] | undefined {
  const known = asked.items.filter((item) => item < asked.itemCount);
  const files = recipeFiles((name) => {
    const array = Object.hasOwn(arrays, name) ? arrays[name] : undefined;
    return array ? new Uint8Array(array.buffer, array.byteOffset, array.byteLength) : bytesOf(name);
  });
  const found = scoresOf(recipe, { ...asked, items: known, files, wantsSums: false })?.scores;
  if (!found || known.length === asked.items.length) return found;
  const places = asked.items.map((item) => known.indexOf(item));
  return found.map((scores) => Float64Array.from(places, (at) => scores[at] ?? Number.NaN));
}

function scoresOf(recipe: ScoreRecipe, asked: Asked): FewScores | undefined {
  if (recipe.kind === "linear") return fewLinear(recipe, asked);
  if (recipe.kind === "pooled") return fewPooled(recipe, asked);
  if (recipe.kind === "cold") {
    const isCold = asked.files.uint8(recipe.is_cold);
    const isAnyCold = asked.items.some((item) => isCold[item] === 1);
    return isAnyCold || asked.wantsSums ? undefined : scoresOf(recipe.warm, asked);
  }
  if (asked.wantsSums) return undefined; // a blend within a blend
  const sum = asked.histories.map(() => new Float64Array(asked.items.length));
  for (const { weight, part } of recipe.parts) {
    const found = scoresOf(part, { ...asked, wantsSums: true });
    if (!found) return undefined;
    for (const [g, scores] of found.scores.entries()) {
      const spread = spreadFrom(found.sums[g]!, asked.itemCount);
      if (spread === undefined) return undefined;
      for (const [k, score] of scores.entries()) sum[g]![k]! += (weight * score) / spread;
    }
  }
  return { scores: sum, sums: [] };
}
