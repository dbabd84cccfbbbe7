import { blend, fitParts } from "./blend.ts";
import { type GraphFilterParams, graphFilter, rankFor } from "./graph-filter.ts";
import { firstGuess, type LocalRidgeParams, localSetRidge } from "./local-set-ridge.ts";
import type { Method } from "./model.ts";
import { withRatings } from "./rated-histories.ts";

export type SetBlendParams = LocalRidgeParams & {
  readonly filterUserExponent: number;
  readonly filterItemExponent: number;
  readonly smooth: number;
  readonly rank: number;
  /** How much the graph filter's opinion counts beside the local ridge's. */
  readonly filterShare: number;
};

/** Local ridge and graph filter together: what is near in the data and what is smooth in them err differently. */
export const setBlend: Method<SetBlendParams> = {
  name: "set_blend",
  grid: (data) => {
    const ridge = firstGuess(data);
    const rank = rankFor(data);
    const filter = { filterUserExponent: 0.4, filterItemExponent: 0.4, smooth: 1, rank, filterShare: 0.6 };
    return withRatings<SetBlendParams>(data, [
      { ...ridge, ...filter },
      { ...ridge, ...filter, filterShare: 1 },
      { ...ridge, ...filter, filterUserExponent: 0.5, filterItemExponent: 0.5 },
      { ...ridge, lambda: 10, userExponent: 0.25, penaltyExponent: 0.25, ...filter, filterShare: 0.3 },
    ]);
  },
  cost(data, params) {
    const [ridge, filter] = [localSetRidge.cost(data, params), graphFilter.cost(data, filterParams(params))];
    return { seconds: ridge.seconds + filter.seconds, memoryMb: ridge.memoryMb + filter.memoryMb };
  },
  async fit(data, params, context) {
    const recipes = [
      { method: localSetRidge as Method, params, share: 1 },
      { method: graphFilter as Method, params: filterParams(params), share: params.filterShare },
    ];
    return blend("set_blend", params, await fitParts(data, recipes, context));
  },
};

const filterParams = (params: SetBlendParams): GraphFilterParams => ({
  userExponent: params.filterUserExponent,
  itemExponent: params.filterItemExponent,
  smooth: params.smooth,
  rank: params.rank,
});
