import { POPULARITY } from "../../shared/manifest.ts";
import type { Interactions } from "../read/dataset/dataset.ts";
import { fittedLinear } from "./linear/linear-export.ts";
import { type Method, reportProgress } from "./model.ts";

/** `halfLifeDays` 0: an interaction counts the same whenever it was. */
export type PopularityParams = { readonly halfLifeDays: number };

/** The baseline that every other method must beat, and the answer for users without a history. */
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
 * Each item's positive interactions, one counting 2^(−age / halfLifeDays), its age taken at the newest interaction.
 * Float64Array(itemCount); plain counts when `halfLifeDays` is 0.
 */
export function popularityWithRecency(interactions: Interactions, halfLifeDays: number): Float64Array {
  const { items, times, positive, itemCount } = interactions;
  const counts = new Float64Array(itemCount);
  if (halfLifeDays === 0) {
    for (let i = 0; i < items.length; i++) counts[items[i]!]! += positive[i]!;
    return counts;
  }
  const newest = newestOf(times);
  const rate = -Math.LN2 / (halfLifeDays * 86_400);
  for (let i = 0; i < items.length; i++) {
    if (positive[i]) counts[items[i]!]! += Math.exp(rate * (newest - times[i]!));
  }
  return counts;
}

function newestOf(times: Uint32Array): number {
  let newest = 0;
  for (let i = 0; i < times.length; i++) if (times[i]! > newest) newest = times[i]!;
  return newest;
}
