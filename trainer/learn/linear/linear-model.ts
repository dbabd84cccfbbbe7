import type { History } from "../../../shared/snapshot.ts";
import { addRow, type WeightMatrix } from "../weights/weight-matrix.ts";

/** How much each entry of a history counts. Position 0 is the newest entry. */
export type HistoryWeighting = {
  /** An item counts once, where it stands newest; else each occurrence counts. */
  readonly distinct: boolean;
  /** The weight is e^(−position / scale); Infinity: all alike. */
  readonly scale: number;
  /** Times 2^(−age / halfLifeDays); Infinity: age does not matter. */
  readonly halfLifeDays: number;
  /** Entries from this position on weigh nothing. */
  readonly window: number;
};

/** The part of a model that looks at the history through one weighting. */
export type LinearTerm = { readonly weighting: HistoryWeighting; readonly matrix: WeightMatrix };

/** scores = bias + Σ over terms, Σ over the history: weight(entry) · matrix[item of the entry]. */
export type LinearModel = {
  readonly itemCount: number;
  readonly terms: readonly LinearTerm[];
  readonly bias: Float32Array | undefined; // [itemCount]
  /** How often each item stands in a history: which weights may go when not all fit. Absent: all alike. */
  readonly uses?: Float32Array; // [itemCount]
};

/** The bound of a history that counts as a set. */
export const SET_HISTORY_MAX = 500;
export const AS_SET: HistoryWeighting = {
  distinct: true,
  scale: Number.POSITIVE_INFINITY,
  halfLifeDays: Number.POSITIVE_INFINITY,
  window: SET_HISTORY_MAX,
};

/** A history as a set, its newest entries counting more: e^(−position / recentScale); 0: all alike. */
export const setWeighting = (recentScale: number): HistoryWeighting => ({
  ...AS_SET,
  scale: recentScale > 0 ? recentScale : Number.POSITIVE_INFINITY,
});

/** Scores without ONNX: the reference that the exported graph is compared with. */
export function scoreLinear(model: LinearModel, history: History): Float32Array {
  const scores = new Float64Array(model.itemCount);
  if (model.bias) scores.set(model.bias);
  for (const { weighting, matrix } of model.terms) {
    const weights = historyWeights(weighting, history);
    for (const [i, item] of history.items.entries()) if (weights[i]) addRow(matrix, item, weights[i]!, scores);
  }
  return Float32Array.from(scores);
}

/** The weight of each entry of a history, oldest first as the history is. */
export function historyWeights(weighting: HistoryWeighting, history: History): Float64Array {
  const { items, agesDays } = history;
  const weights = new Float64Array(items.length);
  const counted = new Set<number>();
  for (let position = 0; position < Math.min(items.length, weighting.window); position++) {
    const i = items.length - 1 - position;
    if (weighting.distinct && counted.has(items[i]!)) continue;
    counted.add(items[i]!);
    weights[i] = Math.exp(-position / weighting.scale) * 2 ** (-agesDays[i]! / weighting.halfLifeDays);
  }
  return weights;
}
