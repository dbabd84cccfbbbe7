import { graphFilter, rankFor } from "./graph-filter.ts";
import { FIRST_FACTORS, implicitAls } from "./implicit-als.ts";
import { firstGuess, type LocalRidgeParams, localSetRidge } from "./local-set-ridge.ts";
import type { Method } from "./model.ts";
import { recipeBlend } from "./scoring/blend-recipe.ts";
import { withRatings } from "./statistics/rated-histories.ts";

export type SetBlendParams = LocalRidgeParams & {
  readonly filterUserExponent: number;
  readonly filterItemExponent: number;
  readonly smooth: number;
  readonly rank: number;
  /** Weight of the graph filter; the local ridge has 1. */
  readonly filterShare: number;
  readonly alsRank: number;
  readonly alsDensity: number;
  readonly alsPenalty: number;
  readonly alsFrequencyExponent: number;
  readonly alsIterations: number;
  /** Weight of the implicit ALS. */
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
    const first: SetBlendParams = {
      ...firstGuess(data),
      filterUserExponent: 0.4,
      filterItemExponent: 0.4,
      smooth: 1,
      rank: rankFor(data),
      filterShare: 0.6,
      alsRank: FIRST_FACTORS.rank,
      alsDensity: FIRST_FACTORS.density,
      alsPenalty: FIRST_FACTORS.penalty,
      alsFrequencyExponent: FIRST_FACTORS.frequencyExponent,
      alsIterations: FIRST_FACTORS.iterations,
      alsShare: 0.6,
    };
    return withRatings<SetBlendParams>(data, [
      first,
      { ...first, alsShare: 0.3 },
      { ...first, filterShare: 1 },
      { ...first, filterUserExponent: 0.5, filterItemExponent: 0.5 },
      { ...first, lambda: 10, userExponent: 0.25, penaltyExponent: 0.25, filterShare: 0.3 },
      { ...first, alsShare: 0 },
    ]);
  },
  recipesFor: (_data, params) => [
    { method: localSetRidge as Method, params, weight: 1 },
    {
      method: graphFilter as Method,
      params: {
        userExponent: params.filterUserExponent,
        itemExponent: params.filterItemExponent,
        smooth: params.smooth,
        rank: params.rank,
      },
      weight: params.filterShare,
    },
    {
      method: implicitAls as Method,
      params: {
        rank: params.alsRank,
        density: params.alsDensity,
        penalty: params.alsPenalty,
        frequencyExponent: params.alsFrequencyExponent,
        iterations: params.alsIterations,
      },
      weight: params.alsShare,
    },
  ],
});
