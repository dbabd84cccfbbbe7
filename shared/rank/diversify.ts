import type { ItemIndex } from "../ids.ts";

/** How alike two entries of the pool are, 0 to 1, by their positions. */
export type Likeness = (a: number, b: number) => number;

/**
 * Maximal marginal relevance (Carbonell and Goldstein, 1998). Each place goes to the item with the largest
 * (1 − weight) · relevance − weight · likeness to the most similar item above. Relevance is the score, from 0 for the pool's worst to 1
 * for its best.
 *
 * @param pool Candidates, best first.
 * @returns The pool with its first `count` places chosen anew; all others follow by score.
 */
export function diversify(
  pool: readonly ItemIndex[],
  scores: Float32Array,
  { weight, count, likeness }: { readonly weight: number; readonly count: number; readonly likeness: Likeness },
): ItemIndex[] {
  if (weight === 0 || pool.length < 2) return [...pool];
  const [best, worst] = [scores[pool[0]!]!, scores[pool.at(-1)!]!];
  const relevance = pool.map((item) => (best > worst ? (scores[item]! - worst) / (best - worst) : 0));
  const mostAlike = new Float64Array(pool.length);
  const left = new Set(pool.keys());
  const chosen: number[] = [];
  while (chosen.length < Math.min(count, pool.length)) {
    let next = -1;
    let largest = -Infinity;
    for (const at of left) {
      const gain = (1 - weight) * relevance[at]! - weight * mostAlike[at]!;
      if (gain > largest) [next, largest] = [at, gain];
    }
    left.delete(next);
    chosen.push(next);
    for (const at of left) mostAlike[at] = Math.max(mostAlike[at]!, likeness(next, at));
  }
  return [...chosen, ...left].map((at) => pool[at]!);
}
