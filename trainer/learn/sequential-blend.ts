import { attributesSetting } from "./attributes/source-attributes.ts";
import { ease } from "./ease.ts";
import { graphFilter, rankFor } from "./graph-filter.ts";
import { localSetRidge } from "./local-set-ridge.ts";
import type { Method, TrainingData } from "./model.ts";
import { type BlendRecipe, recipeBlend } from "./scoring/blend-recipe.ts";
import { sequentialLocalRidge } from "./sequential-local-ridge.ts";
import { FAR, NEAR, sequentialGrid, sequentialRidge } from "./sequential-ridge.ts";
import { hasNegatives } from "./statistics/histories.ts";

/** Settings of the far and the near sequential ridge of a blend, as in `sequential_ridge`. */
export type FarAndNearParams = {
  readonly lambda: number;
  /** Weight of the histories read backwards, in the near ridge only. */
  readonly reversed: number;
  readonly negatives?: number;
  readonly attributes?: number;
};

export type SequentialBlendParams = FarAndNearParams & {
  /** Weight of the near ridge; the far ridge has 1 − nearShare. */
  readonly nearShare: number;
  /** Weights of the two parts that ignore order. */
  readonly setShare: number;
  readonly filterShare: number;
  readonly negatives: number;
};

/**
 * Computes the sum of two sequential ridges, one with far and one with near windows, and two models that ignore order
 * (`ease` or `local_ridge`, and `graph_filter`), each divided by its spread.
 * Wins: next item on most data, because the parts make different errors. Cost: the sum of its parts.
 */
export const sequentialBlend: Method<SequentialBlendParams> = recipeBlend({
  name: "sequential_blend",
  grid(data) {
    const lambda = sequentialGrid(data)[0]!.lambda;
    const weights = { nearShare: 0.5, setShare: 0.15, filterShare: 0.15 };
    const even = { lambda, reversed: 0.3, ...weights, negatives: 0, ...attributesSetting(data) };
    const settings = [even, { ...even, setShare: 0, filterShare: 0 }, { ...even, lambda: 3 * lambda }];
    if (hasNegatives(data)) settings.splice(1, 0, { ...even, negatives: 1 });
    return settings;
  },
  recipesFor(data, params) {
    const { nearShare, setShare, filterShare } = params;
    const [far, near] = farAndNearRidges(data, params);
    const filterParams = { userExponent: 0.5, itemExponent: 0.5, smooth: 1, rank: rankFor(data) };
    return [
      { ...far, weight: 1 - nearShare },
      { ...near, weight: nearShare },
      { ...setRidge(data), weight: setShare },
      { method: graphFilter as Method, params: filterParams, weight: filterShare },
    ];
  },
});

/** Up to this number of items the exact solutions are quick; beyond it, each item is regressed on its neighbours. */
const EXACT_ITEMS_MAX = 6000;
const NEIGHBOURS = 300;

const isExact = ({ itemCount }: TrainingData) => itemCount <= EXACT_ITEMS_MAX;

/** The two sequential parts of a blend, each of weight 1. */
export function farAndNearRidges(
  data: TrainingData,
  { lambda, reversed, negatives = 0, attributes = 0 }: FarAndNearParams,
): [far: BlendRecipe, near: BlendRecipe] {
  const method = (isExact(data) ? sequentialRidge : sequentialLocalRidge) as Method;
  const both = { lambda, negatives, attributes, ...(isExact(data) ? {} : { neighbours: NEIGHBOURS }) };
  return [
    { method, params: { ...both, ...FAR, reversed: 0 }, weight: 1 },
    { method, params: { ...both, ...NEAR, reversed }, weight: 1 },
  ];
}

const setRidge = (data: TrainingData) =>
  isExact(data)
    ? { method: ease as Method, params: { lambda: 3, userExponent: 0.5, penaltyExponent: 0.5, recentScale: 0 } }
    : {
        method: localSetRidge as Method,
        params: { lambda: 10, userExponent: 0.5, penaltyExponent: 0.25, recentScale: 0, neighbours: NEIGHBOURS },
      };
