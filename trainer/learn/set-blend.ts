import { type GraphFilterParams, graphFilter, rankFor } from "./graph-filter.ts";
import { FIRST_FACTORS, type ImplicitAlsParams, implicitAls } from "./implicit-als.ts";
import { firstGuess, type LocalRidgeParams, localSetRidge } from "./local-set-ridge.ts";
import type { Method } from "./model.ts";
import { type BlendRecipe, blend, fitParts } from "./scoring/blend.ts";
import { withRatings } from "./statistics/rated-histories.ts";

export type SetBlendParams = LocalRidgeParams & {
  readonly filterUserExponent: number;
  readonly filterItemExponent: number;
  readonly smooth: number;
  readonly rank: number;
  /** How much the graph filter's opinion counts beside the local ridge's. */
  readonly filterShare: number;
  readonly alsRank: number;
  readonly alsDensity: number;
  readonly alsPenalty: number;
  readonly alsFrequencyExponent: number;
  readonly alsIterations: number;
  /** The same of the implicit ALS; 0: it has none, and is not fitted. */
  readonly alsShare: number;
};

/** Local ridge, graph filter and implicit ALS together: what is near, smooth or of low rank in the data err differently. */
export const setBlend: Method<SetBlendParams> = {
  name: "set_blend",
  sums: ["local_ridge", "graph_filter", "implicit_als"],
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
  cost(data, params) {
    const costs = recipesOf(params).map((own) => own.method.cost(data, own.params));
    const sum = (of: (cost: (typeof costs)[number]) => number) => costs.reduce((total, own) => total + of(own), 0);
    return { seconds: sum(({ seconds }) => seconds), memoryMb: sum(({ memoryMb }) => memoryMb) };
  },
  fit: async (data, params, context) => blend("set_blend", params, await fitParts(data, recipesOf(params), context)),
};

/** The parts that have a share. */
const recipesOf = (params: SetBlendParams): BlendRecipe[] =>
  [
    { method: localSetRidge as Method, params, share: 1 },
    { method: graphFilter as Method, params: filterParams(params), share: params.filterShare },
    { method: implicitAls as Method, params: alsParams(params), share: params.alsShare },
  ].filter(({ share }) => share > 0);

const filterParams = (params: SetBlendParams): GraphFilterParams => ({
  userExponent: params.filterUserExponent,
  itemExponent: params.filterItemExponent,
  smooth: params.smooth,
  rank: params.rank,
});

const alsParams = (params: SetBlendParams): ImplicitAlsParams => ({
  rank: params.alsRank,
  density: params.alsDensity,
  penalty: params.alsPenalty,
  frequencyExponent: params.alsFrequencyExponent,
  iterations: params.alsIterations,
});
