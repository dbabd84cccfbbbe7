import type { ItemIndex } from "../ids.ts";

/** The likeness of one entry of the pool to every entry, 0 to 1, by position. The array is valid until the next call. */
export type Likeness = (at: number) => Float64Array;

/**
 * Maximal marginal relevance (Carbonell and Goldstein, 1998). Each place goes to the item with the largest
 * (1 − weight) · relevance − weight · likeness to the most similar item above. Relevance is the score, from 0 for the pool's worst to 1
 * for its best.
 *
 * @param pool Candidates, best first.
 * @returns The pool with its first `count` places filled by this rule; all others follow by score.
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
  const isChosen = new Uint8Array(pool.length);
  const list: ItemIndex[] = [];
  let next = 0; // nothing is above the first place, so it goes to the best item
  while (list.length < Math.min(count, pool.length)) {
    list.push(pool[next]!);
    isChosen[next] = 1;
    const alike = likeness(next);
    let largest = -Infinity;
    for (let at = 0; at < pool.length; at++) {
      if (isChosen[at]) continue;
      if (alike[at]! > mostAlike[at]!) mostAlike[at] = alike[at]!;
      const gain = (1 - weight) * relevance[at]! - weight * mostAlike[at]!;
      if (gain > largest) [next, largest] = [at, gain];
    }
  }
  return [...list, ...pool.filter((_, at) => !isChosen[at])];
}
