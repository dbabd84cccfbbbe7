/** Finds how many rising bounds are not above a key, where keys are too many for a table with the answer of each. */
export type ClassSearch = {
  classOf(key: number): number;
  /** Bounds that the key is compared with, at most: their number by halves. */
  boundsNear(key: number): number;
};

const BUCKETS_PER_BOUND = 4;
const BUCKETS_MAX = 2 ** 14;
const DOUBLE = new Float64Array(1);
const WORDS = new Int32Array(DOUBLE.buffer);

/**
 * The upper half of a number's bits, which rises as numbers do: as an integer where it is positive, turned round where it is negative
 * (IEEE 754). NaN is above all; −0 is 0.
 */
function upperBits(value: number): number {
  DOUBLE[0] = value + 0;
  const word = WORDS[1]!;
  return word ^ ((word >> 31) & 0x7fffffff);
}

/**
 * A search that begins between the bounds of the key's bucket, mostly none or one. Buckets are of equal width on the scale of upper bits,
 * which is that of logarithms: prices, counts and times lie evenly on it.
 */
export function classSearch(bounds: readonly number[]): ClassSearch {
  const rising = Float64Array.from(bounds);
  const inner = rising.filter((bound) => Math.abs(bound) < Number.MAX_VALUE).map(upperBits);
  const [least, most] = [inner[0] ?? 0, inner.at(-1) ?? 0];
  const bucketsMax = Math.min(BUCKETS_MAX, 1 + BUCKETS_PER_BOUND * rising.length);
  let shift = 0;
  while ((most - least) / 2 ** shift >= bucketsMax) shift++;
  const last = 1 + ((most - least) >>> shift);
  const bucketOf = (key: number) => {
    const bits = upperBits(key);
    return bits < least ? 0 : bits > most ? last : 1 + ((bits - least) >>> shift);
  };
  const first = new Uint32Array(last + 2); // of each bucket the number of bounds before it
  for (const bound of rising) first[bucketOf(bound) + 1]!++;
  for (let bucket = 0; bucket <= last; bucket++) first[bucket + 1]! += first[bucket]!;
  return {
    classOf(key) {
      const bucket = bucketOf(key);
      let low = first[bucket]!;
      let high = first[bucket + 1]!;
      while (low < high) {
        const middle = (low + high) >>> 1;
        if (rising[middle]! <= key) low = middle + 1;
        else high = middle;
      }
      return low;
    },
    boundsNear(key) {
      const bucket = bucketOf(key);
      return first[bucket + 1]! - first[bucket]!;
    },
  };
}
