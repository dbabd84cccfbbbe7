import { StageError } from "../../stage/stage-error.ts";

/**
 * Positions in the order of 64-bit hashes, which are given as high and low words. Throws StageError when two are equal.
 */
export function hashOrder(high: Uint32Array, low: Uint32Array): Uint32Array {
  const order = orderBy(high);
  sortTies(order, high, low);
  return order;
}

/** Positions in the order of their 32-bit keys: sorts 64-bit numbers, which have the key above the position. */
function orderBy(keys: Uint32Array): Uint32Array {
  const words = new Uint32Array(2 * keys.length); // little-endian
  for (let at = 0; at < keys.length; at++) words.set([at, keys[at]!], 2 * at);
  new BigUint64Array(words.buffer).sort();
  return words.filter((_, i) => i % 2 === 0);
}

/** Orders neighbours with the same high word by their low words. Refuses equal hashes. */
function sortTies(order: Uint32Array, high: Uint32Array, low: Uint32Array): void {
  for (let i = 1; i < order.length; i++) {
    for (let at = i; at > 0 && high[order[at - 1]!] === high[order[at]!]; at--) {
      const [before, after] = [order[at - 1]!, order[at]!];
      if (low[before]! < low[after]!) break;
      if (low[before] === low[after]) throw hashCollision("deploying");
      order[at - 1] = after;
      order[at] = before;
    }
  }
}

/** Expected once in 100,000 runs with ten million users. The next run has another salt. */
export const hashCollision = (stage: "fetching" | "deploying"): StageError =>
  new StageError(stage, "user_hash_collision", "Two users have the same 64-bit hash; train again.", {
    retryable: true,
  });
