/** From the scores of a list to places in it, and back: both rules that compare items by their odds need it, since scores have no unit. */

import { countBelowIn } from "../binary-search.ts";
import type { ItemIndex } from "../ids.ts";
import { topK } from "../top-k.ts";
import { scaleOf } from "./score-scale.ts";

/** The best scores, which are never none, and the standard deviation of all. */
export type BestScores = { readonly best: readonly number[]; readonly deviation: number };

export function bestScores(scores: Float32Array, count: number, isCandidate: (item: ItemIndex) => boolean): BestScores {
  const best = topK(scores, count, isCandidate).map((item) => scores[item]!);
  return { best: best.length > 0 ? best : [0], deviation: scaleOf(scores).deviation };
}

/** The score at a place, given as its logarithm, between the best scores. Beyond them, a deviation is an e-fold of the place. */
export function scoreAt(logPlace: number, { best, deviation }: BestScores): number {
  const last = Math.log(best.length);
  if (logPlace <= 0) return best[0]! - deviation * logPlace;
  if (logPlace >= last) return best.at(-1)! - deviation * (logPlace - last);
  const place = Math.exp(logPlace);
  const before = Math.min(Math.floor(place), best.length - 1); // exp ln n may be n
  const [higher, lower] = [best[before - 1]!, best[before]!];
  return higher + (lower - higher) * (place - before);
}

/** The logarithm of the place of a score: the first one, where several places have the same score. */
export function logPlaceOf(score: number, { best, deviation }: BestScores): number {
  const [first, last] = [best[0]!, best.at(-1)!];
  if (score >= first) return (first - score) / deviation;
  if (score < last) return Math.log(best.length) + (last - score) / deviation;
  const at = countBelowIn(best.length, (i) => best[i]! > score);
  const [higher, lower] = [best[at - 1]!, best[at]!];
  return Math.log(at + (higher - score) / (higher - lower));
}
