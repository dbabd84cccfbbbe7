import { graphFilter, rankFor } from "./graph-filter.ts";
import { FIRST_FACTORS, implicitAls } from "./implicit-als.ts";
import { firstGuess, type LocalRidgeParams, localSetRidge } from "./local-set-ridge.ts";
import type { Method } from "./model.ts";
import { recipeBlend } from "./scoring/blend-recipe.ts";
import { withRatings } from "./statistics/rated-histories.ts";

export type SetBlendParams = LocalRidgeParams & {
  readonly filterUserExponent: number;
  readonly filterItemExponent: number;
  /** Rank of the graph filter. */
  readonly rank: number;
  /** Weights of the graph filter and the implicit ALS; the local ridge has 1. */
  readonly filterShare: number;
  readonly alsShare: number;
};

/**
 * Computes the sum of `local_ridge`, `graph_filter` and `implicit_als`, each divided by its spread.
 * Wins: sets, because the parts make different errors (neighbours, smooth structure, low rank). Cost: the sum of its parts.
 */
export const setBlend: Method<SetBlendParams> = recipeBlend({
  name: "set_blend",
  parts: ["local_ridge", "graph_filter", "implicit_als"],
  grid: (data) => {
    const exponents = { filterUserExponent: 0.4, filterItemExponent: 0.4 };
    const first = { ...firstGuess(data), ...exponents, rank: rankFor(data), filterShare: 0.6, alsShare: 0.6 };
    return withRatings<SetBlendParams>(data, [
      first,
      { ...first, alsShare: 0.3 },
      { ...first, filterShare: 1 },
      { ...first, filterUserExponent: 0.5, filterItemExponent: 0.5 },
      { ...first, lambda: 10, userExponent: 0.25, penaltyExponent: 0.25, filterShare: 0.3 },
      { ...first, alsShare: 0 },
    ]);
  },
  recipesFor(_data, params) {
    const { filterUserExponent: userExponent, filterItemExponent: itemExponent, rank } = params;
    const filterParams = { userExponent, itemExponent, smooth: 1, rank };
    return [
      { method: localSetRidge as Method, params, weight: 1 },
      { method: graphFilter as Method, params: filterParams, weight: params.filterShare },
      { method: implicitAls as Method, params: FIRST_FACTORS, weight: params.alsShare },
    ];
  },
});
