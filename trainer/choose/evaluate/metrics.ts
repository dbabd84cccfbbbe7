import type { ItemIndex } from "../../../shared/ids.ts";

/**
 * A metric compares one ranked list, the best item first, with the items that the user really chose. Pure, per list, in [0, 1];
 * evaluate.ts averages over users. NaN for an empty `relevant`: such users are left out, not counted as 0.
 */
export type Metric = (ranked: readonly ItemIndex[], relevant: ReadonlySet<ItemIndex>, k: number) => number;

/** Fraction of the relevant items that are in the first k: hits ÷ |relevant| (not ÷ min(k, |relevant|)). */
export const recall: Metric = (ranked, relevant, k) => hitsOf(ranked, relevant, k) / relevant.size;

/** 1 if any relevant item is in the first k, else 0. With one relevant item the same as recall. */
export const hitRate: Metric = (ranked, relevant, k) =>
  relevant.size === 0 ? Number.NaN : Math.min(1, hitsOf(ranked, relevant, k));

/** 1 ÷ the rank of the first relevant item, 0 if none is in the first k. */
export const mrr: Metric = (ranked, relevant, k) => {
  if (relevant.size === 0) return Number.NaN;
  for (let i = 0; i < Math.min(k, ranked.length); i++) if (relevant.has(ranked[i]!)) return 1 / (i + 1);
  return 0;
};

/**
 * Binary gain, discount 1/log2(rank + 1), rank from 1, divided by the best possible sum: Σ over the first
 * min(k, |relevant|) ranks. The definition of the LightGCN and SASRec tables (all items ranked).
 */
export const ndcg: Metric = (ranked, relevant, k) => {
  let gain = 0;
  for (let i = 0; i < Math.min(k, ranked.length); i++) if (relevant.has(ranked[i]!)) gain += discount(i + 1);
  let ideal = 0;
  for (let rank = 1; rank <= Math.min(k, relevant.size); rank++) ideal += discount(rank);
  return gain / ideal;
};

/** The metrics of one list, by the name they have in reports before `@k`. */
export const METRICS = { recall, ndcg, mrr, hr: hitRate } as const satisfies Record<string, Metric>;
export type MetricName = keyof typeof METRICS;

/** Distinct items shown to anybody ÷ all items. `shown[item]` is the number of lists that contain the item. */
export function coverage(shown: ArrayLike<number>): number {
  let distinct = 0;
  for (let item = 0; item < shown.length; item++) if (shown[item]! > 0) distinct++;
  return shown.length === 0 ? 0 : distinct / shown.length;
}

/**
 * Inequality of exposure, Gini coefficient over all items, those never shown included: 0 when each is shown equally
 * often, (n − 1)/n when one item takes every place. Σ (2i − n − 1)·x_i ÷ (n·Σx), x ascending, i from 1.
 */
export function gini(shown: ArrayLike<number>): number {
  const ascending = Float64Array.from(shown).sort();
  let weighted = 0;
  let total = 0;
  for (let i = 0; i < ascending.length; i++) {
    weighted += (2 * (i + 1) - ascending.length - 1) * ascending[i]!;
    total += ascending[i]!;
  }
  return total === 0 ? 0 : weighted / (ascending.length * total);
}

/**
 * For each item the fraction of items that are less popular, ties counted half: [itemCount] in (0, 1), mean 0.5. The average over shown
 * items is the popularity bias of the lists; compare it with the average over histories.
 */
export function popularityPercentiles(interactionCounts: ArrayLike<number>): Float64Array {
  const count = interactionCounts.length;
  const order = Array.from({ length: count }, (_, item) => item);
  order.sort((a, b) => interactionCounts[a]! - interactionCounts[b]!);
  const percentiles = new Float64Array(count);
  for (let first = 0; first < count; ) {
    let end = first + 1;
    while (end < count && interactionCounts[order[end]!] === interactionCounts[order[first]!]) end++;
    for (let i = first; i < end; i++) percentiles[order[i]!] = (first + end) / 2 / count;
    first = end;
  }
  return percentiles;
}

const discount = (rank: number) => 1 / Math.log2(rank + 1);

function hitsOf(ranked: readonly ItemIndex[], relevant: ReadonlySet<ItemIndex>, k: number): number {
  let hits = 0;
  for (let i = 0; i < Math.min(k, ranked.length); i++) if (relevant.has(ranked[i]!)) hits++;
  return hits;
}
