import { attributesSetting } from "./attributes/source-attributes.ts";
import { ease } from "./ease.ts";
import { graphFilter, rankFor } from "./graph-filter.ts";
import { localSetRidge } from "./local-set-ridge.ts";
import type { Method, TrainingData } from "./model.ts";
import { type BlendRecipe, blend, fitParts } from "./scoring/blend.ts";
import { sequentialLocalRidge } from "./sequential-local-ridge.ts";
import { sequentialGrid, sequentialRidge } from "./sequential-ridge.ts";
import { hasNegatives } from "./statistics/histories.ts";

export type SequentialBlendParams = {
  /** Ridge of both sequential parts, as in `sequential_ridge`. */
  readonly lambda: number;
  /** How much histories read backwards count in the near-sighted part. */
  readonly reversed: number;
  /** Share of the near-sighted part; the far-sighted one has the rest of 1. */
  readonly nearShare: number;
  /** Shares of what is blind to order, beside the sequential 1. */
  readonly setShare: number;
  readonly filterShare: number;
  /** As in `sequential_ridge`. */
  readonly negatives: number;
  /** As in `sequential_ridge`. */
  readonly attributes?: number;
};

/** Items up to which the exact solutions are quick; beyond, each item is regressed on its neighbours. */
const EXACT_ITEMS_MAX = 6000;
const NEIGHBOURS = 300;

/** Two sequential ridges, one looking far and one near, with two models that are blind to order: they err differently. */
export const sequentialBlend: Method<SequentialBlendParams> = {
  name: "sequential_blend",
  grid(data) {
    const lambda = sequentialGrid(data)[0]!.lambda;
    const shares = { nearShare: 0.5, setShare: 0.15, filterShare: 0.15 };
    const even = { lambda, reversed: 0.3, ...shares, negatives: 0, ...attributesSetting(data) };
    const settings = [even, { ...even, setShare: 0, filterShare: 0 }, { ...even, lambda: 3 * lambda }];
    if (hasNegatives(data)) settings.splice(1, 0, { ...even, negatives: 1 });
    return settings;
  },
  cost(data, params) {
    const costs = recipesFor(data, params).map(({ method, params: own }) => method.cost(data, own));
    return {
      seconds: costs.reduce((sum, { seconds }) => sum + seconds, 0),
      // One part is fitted after the other, but the results stay.
      memoryMb:
        Math.max(...costs.map(({ memoryMb }) => memoryMb)) +
        0.3 * costs.reduce((sum, { memoryMb }) => sum + memoryMb, 0),
    };
  },
  fit: async (data, params, context) =>
    blend("sequential_blend", params, await fitParts(data, recipesFor(data, params), context)),
};

function recipesFor(data: TrainingData, params: SequentialBlendParams): BlendRecipe[] {
  const isExact = data.itemCount <= EXACT_ITEMS_MAX;
  const sequential = (isExact ? sequentialRidge : sequentialLocalRidge) as Method;
  const { lambda, reversed, nearShare, setShare, filterShare, negatives, attributes = 0 } = params;
  const own = { lambda, negatives, attributes, ...(isExact ? {} : { neighbours: NEIGHBOURS }) };
  const far = { ...own, longScale: 20, longWindow: 60, shortScale: 2, shortWindow: 8, reversed: 0 };
  const near = { ...own, longScale: 10, longWindow: 40, shortScale: 1, shortWindow: 3, reversed };
  const set = (isExact ? ease : localSetRidge) as Method;
  const setParams = isExact
    ? { lambda: 3, userExponent: 0.5, penaltyExponent: 0.5, recentScale: 0 }
    : { lambda: 10, userExponent: 0.5, penaltyExponent: 0.25, recentScale: 0, neighbours: NEIGHBOURS };
  const filterParams = { userExponent: 0.5, itemExponent: 0.5, smooth: 1, rank: rankFor(data) };
  return [
    { method: sequential, params: far, share: 1 - nearShare },
    { method: sequential, params: near, share: nearShare },
    { method: set, params: setParams, share: setShare },
    { method: graphFilter as Method, params: filterParams, share: filterShare },
  ].filter(({ share }) => share > 0);
}
