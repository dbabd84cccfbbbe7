/** One held-out entry: how each part of a blend scores the target and the items that compete with it. */
export type ScoredPool = {
  /** For each part, the scores of the same items, divided by the standard deviation of the part's scores over the catalog. */
  readonly scores: readonly Float32Array[]; // [partCount]
  /** Index of the held-out item in these arrays. */
  readonly target: number;
};

/** Weights that are tried for every part but the first, whose weight is 1. */
const WEIGHTS: readonly number[] = [0, 0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4];
/** Weight of every part but the first at the beginning, and without any pool. */
const WEIGHT_DEFAULT = 0.05;
const SWEEPS_MAX = 5;

/**
 * The weights of a blend's parts under which the held-out entries are likeliest, found one weight at a time (stacking, Wolpert
 * 1992). The likelihood is that of a softmax over each pool, with a fitted sharpness. Unlike NDCG, it does not jump when one
 * rank changes.
 *
 * @returns Weights; the first is 1. [partCount]
 */
export function likeliestWeights(pools: readonly ScoredPool[], partCount: number): number[] {
  const weights = Array.from({ length: partCount }, (_, part): number => (part === 0 ? 1 : WEIGHT_DEFAULT));
  if (pools.length === 0) return weights;
  let best = bestLikelihood(pools, weights, 0);
  for (let sweep = 0; sweep < SWEEPS_MAX; sweep++) {
    const before = best.value;
    for (let part = 1; part < partCount; part++) {
      for (const weight of WEIGHTS) {
        const found = bestLikelihood(pools, weights.with(part, weight), best.step);
        if (found.value <= best.value) continue;
        best = found;
        weights[part] = weight;
      }
    }
    if (best.value === before) break;
  }
  return weights;
}

/** Sharpness is 2^(step / 2), with steps from −STEP_MAX to STEP_MAX. */
const STEP_MAX = 12;

/** The likelihood under the best sharpness. It is concave in the sharpness, so a climb from any step finds the best one. */
function bestLikelihood(pools: readonly ScoredPool[], weights: readonly number[], from: number) {
  const mixed = pools.map(({ scores, target }) => ({ scores: weightedSum(scores, weights), target }));
  const at = (step: number) => ({ step, value: meanLogLikelihood(mixed, 2 ** (step / 2)) });
  let best = at(from);
  for (const direction of [1, -1]) {
    while (Math.abs(best.step + direction) <= STEP_MAX) {
      const next = at(best.step + direction);
      if (next.value <= best.value) break;
      best = next;
    }
  }
  return best;
}

function weightedSum(scores: readonly Float32Array[], weights: readonly number[]): Float32Array {
  const sum = new Float32Array(scores[0]!.length);
  for (const [part, own] of scores.entries()) {
    const weight = weights[part]!;
    if (weight > 0) for (let i = 0; i < sum.length; i++) sum[i]! += weight * own[i]!;
  }
  return sum;
}

function meanLogLikelihood(pools: readonly { scores: Float32Array; target: number }[], sharpness: number): number {
  let sum = 0;
  for (const { scores, target } of pools) {
    const largest = scores.reduce((most, score) => Math.max(most, score), Number.NEGATIVE_INFINITY);
    let total = 0;
    for (const score of scores) total += Math.exp(sharpness * (score - largest));
    sum += sharpness * (scores[target]! - largest) - Math.log(total);
  }
  return sum / pools.length;
}
