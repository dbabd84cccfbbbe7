/**
 * Finds the class of an item's key: the number of given rising bounds that are at or below the key. If the bounds are those of a key set,
 * an odd class means that the key is in the set.
 *
 * There are three ways, and the fastest one that the column allows is taken: two comparisons for a set of one range; a table with the
 * class of every possible key; a search among the bounds, for numbers that are stored as they are or where the table would be too large.
 */
import type { KeyedColumn } from "../attributes.ts";
import { countOf } from "../packed-strings.ts";

export type KeyClassifier = {
  /** The class of the key at a position of the column. */
  classAt(at: number): number;
  /** Whether the class of the key at a position is odd. */
  isInside(at: number): boolean;
  /** Estimated nanoseconds to classify the key at a position, among other keys. */
  nsAt(at: number): number;
};

/** Nanoseconds per key, measured in Node.js 24 on an AMD EPYC. */
const TABLE_NS = 10;
const RANGE_NS = 7;
const SEARCH_NS = 30;
const SEARCH_NS_PER_COMPARISON = 7;

/** The bytes that the class tables of one filter may still take. Once they are used up, classes are found by a search. */
export type TableBudget = { bytesLeft: number };
/** Enough for some thirty tables of an attribute with more than 255 values. */
export const createTableBudget = (): TableBudget => ({ bytesLeft: 8_000_000 });

/** A classifier with defaults for the functions that can be derived from `classAt`. */
export const classifierBy = (
  classAt: KeyClassifier["classAt"],
  { nsAt = () => TABLE_NS, isInside = (at) => (classAt(at) & 1) === 1 }: Partial<KeyClassifier> = {},
): KeyClassifier => ({ classAt, isInside, nsAt });

export function classifierOf(column: KeyedColumn, bounds: readonly number[], budget: TableBudget): KeyClassifier {
  const { keys } = column;
  if (keys instanceof Float32Array || keys instanceof Float64Array) return floatClassifier(keys, bounds);
  if (bounds.length === 2) {
    const [from, to] = bounds as [number, number];
    return classifierBy((at) => (keys[at]! < from ? 0 : keys[at]! < to ? 1 : 2), {
      isInside: (at) => keys[at]! >= from && keys[at]! < to,
      nsAt: () => RANGE_NS,
    });
  }
  const keyCount = keyCountOf(column);
  if (4 * keyCount > budget.bytesLeft) return searchClassifier((at) => keys[at]!, bounds);
  const classOf = new Uint32Array(keyCount);
  budget.bytesLeft -= classOf.byteLength;
  for (const [i, bound] of bounds.entries())
    classOf.fill(i + 1, Math.max(0, bound), Math.max(0, bounds[i + 1] ?? Infinity));
  return classifierBy((at) => classOf[keys[at]!]!, { isInside: (at) => (classOf[keys[at]!]! & 1) === 1 });
}

/**
 * Classifies numbers that are stored as they are. A missing number is NaN and counts as −∞. This is a function of its own because a loop
 * that has run over every kind of typed array is slow.
 */
function floatClassifier(keys: Float32Array | Float64Array, bounds: readonly number[]): KeyClassifier {
  if (bounds.length !== 2) return searchClassifier((at) => (Number.isNaN(keys[at]!) ? -Infinity : keys[at]!), bounds);
  const [from, to] = bounds as [number, number];
  const missing = from === -Infinity ? 1 : 0;
  return classifierBy((at) => (keys[at]! >= to ? 2 : keys[at]! >= from ? 1 : missing), {
    isInside: missing ? (at) => !(keys[at]! >= to) : (at) => keys[at]! >= from && keys[at]! < to,
    nsAt: () => RANGE_NS,
  });
}

/** The number of different keys that a column of whole keys can have, the key of a missing value included. */
function keyCountOf(column: KeyedColumn): number {
  if ("dictionary" in column) return 1 + countOf(column.dictionary);
  return "values" in column ? 1 + column.values.length : 2 ** (8 * column.keys.BYTES_PER_ELEMENT);
}

function searchClassifier(keyAt: (at: number) => number, bounds: readonly number[]): KeyClassifier {
  const { classOf, boundsNear } = searchBounds(bounds);
  const nsAt = (at: number) => SEARCH_NS + SEARCH_NS_PER_COMPARISON * Math.log2(1 + boundsNear(keyAt(at)));
  return classifierBy((at) => classOf(keyAt(at)), { nsAt });
}

export type BoundSearch = {
  classOf(key: number): number;
  /** The number of bounds in the key's bucket, among which a binary search goes on. */
  boundsNear(key: number): number;
};

const BUCKETS_PER_BOUND = 4;
const BUCKETS_MAX = 2 ** 14;

/**
 * Finds classes by a bucket and, within it, by binary search. Most buckets hold no bound or one. Buckets have equal width on the scale of
 * `upperBits`, which is roughly logarithmic: prices, counts and times are spread evenly on it.
 */
export function searchBounds(bounds: readonly number[]): BoundSearch {
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
  const first = new Uint32Array(last + 2); // [bucket] number of bounds in the buckets before it
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

const DOUBLE = new Float64Array(1);
const WORDS = new Int32Array(DOUBLE.buffer);

/**
 * The upper 32 bits of a double (IEEE 754), as an integer that rises with the number. The bits of a positive number rise by themselves;
 * those of a negative number are inverted. NaN is above all numbers, and −0 equals 0.
 */
function upperBits(value: number): number {
  DOUBLE[0] = value + 0;
  const word = WORDS[1]!;
  return word ^ ((word >> 31) & 0x7fffffff);
}
