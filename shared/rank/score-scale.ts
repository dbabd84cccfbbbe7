import type { ItemIndex } from "../ids.ts";

/** The scale of published scores: standard deviations above the mean of the catalog. */
export type ScoreScale = { readonly mean: number; readonly deviation: number };

/** Mean and standard deviation of the finite scores. Equal scores get the deviation 1, so that boosts have a unit. */
export function scaleOf(scores: Float32Array): ScoreScale {
  const shift = Number.isFinite(scores[0]) ? scores[0]! : 0; // avoids cancellation where all scores are large
  const all = sumsOf(scores, shift);
  const { count, sum, squares } = Number.isFinite(all.squares) ? all : sumsOf(scores.filter(Number.isFinite), shift);
  const mean = count > 0 ? sum / count : 0;
  const variance = count > 0 ? squares / count - mean * mean : 0;
  const isFlat = !(variance > 1e-12 * (squares / count));
  return { mean: mean + shift, deviation: isFlat ? 1 : Math.sqrt(variance) };
}

function sumsOf(scores: Float32Array, shift: number) {
  let [sum, squares] = [0, 0];
  for (let item = 0; item < scores.length; item++) {
    const score = scores[item]! - shift;
    sum += score;
    squares += score * score;
  }
  return { count: scores.length, sum, squares };
}

/**
 * Scores of the catalog's order in which some items have values of their own, in standard deviations above their mean, so that boosts
 * weigh as much as elsewhere.
 */
export function scoresAmong(values: ReadonlyMap<ItemIndex, number>, itemCount: number): Float32Array {
  const { mean, deviation } = scaleOf(Float32Array.from(values.values()));
  const scores = popularityScores(itemCount);
  for (const [item, value] of values) scores[item] = (value - mean) / deviation;
  return scores;
}

/** Scores of the catalog's order, which is popularity: −ln of the place, as popularity falls about as a power of the place. */
export function popularityScores(itemCount: number): Float32Array {
  const scores = new Float32Array(itemCount);
  for (let item = 0; item < itemCount; item++) scores[item] = -Math.log(item + 1);
  return scores;
}
