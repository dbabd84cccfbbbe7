import { POPULARITY } from "../../shared/manifest.ts";
import type { Interactions } from "../read/dataset/dataset.ts";
import { fittedLinear } from "./linear/linear-export.ts";
import { type Method, reportProgress } from "./model.ts";

/** `halfLifeDays` 0: an interaction counts 1, whatever its age. */
export type PopularityParams = { readonly halfLifeDays: number };

/**
 * Computes one score per item for everybody: Σ 2^(−age / halfLifeDays) over its positive interactions.
 * Wins: for users without a history; it is the baseline that every other method must beat. Cost: one pass over the interactions.
 */
export const popularity: Method<PopularityParams> = {
  name: POPULARITY,
  grid: () => [0, 365, 90, 30, 7, 1].map((halfLifeDays) => ({ halfLifeDays })),
  cost: (data) => ({ seconds: 1e-8 * data.items.length, memoryMb: (12 * data.itemCount) / 1e6 }),
  async fit(data, params, context) {
    await reportProgress(context, 0, "counting");
    const bias = Float32Array.from(popularityWithRecency(data, params.halfLifeDays));
    return fittedLinear(POPULARITY, params, { itemCount: data.itemCount, terms: [], bias });
  },
};

/**
 * Each item's positive interactions, each counting 2^(−age / halfLifeDays), where the age is relative to the newest interaction.
 * Plain counts when `halfLifeDays` is 0. Float64Array(itemCount)
 */
export function popularityWithRecency(interactions: Interactions, halfLifeDays: number): Float64Array {
  const { items, times, positive, itemCount } = interactions;
  const counts = new Float64Array(itemCount);
  const newest = times.reduce((latest, time) => Math.max(latest, time), 0);
  const rate = halfLifeDays === 0 ? 0 : -Math.LN2 / (halfLifeDays * 86_400);
  for (let i = 0; i < items.length; i++) {
    if (positive[i]) counts[items[i]!]! += Math.exp(rate * (newest - times[i]!));
  }
  return counts;
}
