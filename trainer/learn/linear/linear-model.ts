import type { RecipeWeighting } from "../../../shared/score-recipe.ts";
import type { WeightMatrix } from "../weights/weight-matrix.ts";

/** How much each entry of a history counts. Position 0 is the newest entry. */
export type HistoryWeighting = {
  /** True: an item counts once, at its newest position. False: each occurrence counts. */
  readonly distinct: boolean;
  /** The weight of a position is e^(−position / scale); Infinity: all positions weigh 1. */
  readonly scale: number;
  /** Number of newest entries that are read; older ones weigh 0. */
  readonly window: number;
  /** An entry of this age weighs half, one of twice the age a quarter, down to 2^−HALVINGS_MAX. Absent: times do not matter. */
  readonly halfLifeDays?: number;
};

/** The same weighting as a recipe has it. */
export const recipeWeighting = ({ distinct, scale, window, halfLifeDays }: HistoryWeighting): RecipeWeighting => ({
  distinct,
  scale: Number.isFinite(scale) ? scale : null,
  window,
  ...(halfLifeDays !== undefined && { half_life_days: halfLifeDays }),
});

/** The part of a model that reads the history through one weighting. */
export type LinearTerm = { readonly weighting: HistoryWeighting; readonly matrix: WeightMatrix };

/** scores = bias + Σ over terms, Σ over the history: weight(entry) · matrix[item of the entry]. */
export type LinearModel = {
  readonly itemCount: number;
  readonly terms: readonly LinearTerm[];
  readonly bias?: Float32Array; // [itemCount]
  /**
   * How often each item occurs in histories. Where not all weights fit the budget, rows of frequent items keep more of theirs.
   * Absent: all rows count alike.
   */
  readonly uses?: Float32Array; // [itemCount]
};

/** Largest length of a history that is read as a set. */
export const SET_HISTORY_MAX = 500;

/**
 * Reads a history as a set in which newer entries count more: e^(−position / recentScale) · 2^(−age / halfLifeDays). 0: all entries
 * count alike.
 */
export const setWeighting = (recentScale: number, halfLifeDays = 0): HistoryWeighting => ({
  distinct: true,
  scale: recentScale > 0 ? recentScale : Number.POSITIVE_INFINITY,
  window: SET_HISTORY_MAX,
  ...(halfLifeDays > 0 && { halfLifeDays }),
});

export const AS_SET = setWeighting(0);
