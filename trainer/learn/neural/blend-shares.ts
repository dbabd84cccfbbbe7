/** What one held-out entry tells: how each part of a blend scored it and its strongest rivals. */
export type JudgedPool = {
  /** [partCount] arrays over the same items, each in deviations of the part's scores over the catalog. */
  readonly scores: readonly Float32Array[];
  /** Place of the item that was chosen. */
  readonly target: number;
};

/** Shares beside the first part's 1: none, a trace, … until the first hardly counts. */
const SHARES: readonly number[] = [0, 0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4];
const SHARE_AT_FIRST = 0.05;
const SWEEPS_MAX = 5;

/**
 * [partCount] how much each part's opinion counts, the first one's always 1: the shares under which the entries that were
 * chosen are likeliest, one share after the other (stacking, Wolpert 1992, with the log-likelihood of a softmax, whose
 * sharpness is fitted as well: unlike NDCG it does not jump when one rank changes). Without pools: a trace of every other part.
 */
export function learnShares(pools: readonly JudgedPool[], partCount: number): number[] {
  const shares = Array.from({ length: partCount }, (_, part): number => (part === 0 ? 1 : SHARE_AT_FIRST));
  if (pools.length === 0) return shares;
  let best = bestLikelihood(pools, shares, 0);
  for (let sweep = 0; sweep < SWEEPS_MAX; sweep++) {
    const before = best.value;
    for (let part = 1; part < partCount; part++) {
      for (const share of SHARES) {
        const tried = shares.with(part, share);
        const found = bestLikelihood(pools, tried, best.step);
        if (found.value <= best.value) continue;
        best = found;
        shares[part] = share;
      }
    }
    if (best.value === before) break;
  }
  return shares;
}

/** Sharpness is 2^(step / 2). */
const STEP_MAX = 12;

/** The likelihood is concave in the sharpness, so a climb from anywhere ends at the best step. */
function bestLikelihood(pools: readonly JudgedPool[], shares: readonly number[], from: number) {
  const mixed = pools.map(({ scores, target }) => ({ scores: mixture(scores, shares), target }));
  const at = (step: number) => ({ step, value: meanLogLikelihood(mixed, 2 ** (step / 2)) });
  let best = at(from);
  for (const way of [1, -1]) {
    while (Math.abs(best.step + way) <= STEP_MAX) {
      const next = at(best.step + way);
      if (next.value <= best.value) break;
      best = next;
    }
  }
  return best;
}

function mixture(scores: readonly Float32Array[], shares: readonly number[]): Float32Array {
  const mixed = new Float32Array(scores[0]!.length);
  for (const [part, own] of scores.entries()) {
    const share = shares[part]!;
    if (share > 0) for (let i = 0; i < mixed.length; i++) mixed[i]! += share * own[i]!;
  }
  return mixed;
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
