import { countBelowIn } from "../binary-search.ts";

/**
 * A set of numbers as half-open ranges. Bounds [a0, b0, a1, b1, …] mean a0 ≤ key < b0, or a1 ≤ key < b1, and so on. Bounds rise strictly,
 * so no range is empty and none touches the next. A key is in the set when an odd number of bounds is at or below it. Every test of a
 * filter on one attribute, and every combination of such tests, is such a set.
 */
export type KeySet = readonly number[];

export const NO_KEYS: KeySet = [];

/** The keys k with from ≤ k < to. */
export const keysFrom = (from: number, to: number): KeySet => (from < to ? [from, to] : NO_KEYS);

export function complement(keys: KeySet): KeySet {
  const bounds = keys[0] === -Infinity ? keys.slice(1) : [-Infinity, ...keys];
  return bounds.at(-1) === Infinity ? bounds.slice(0, -1) : [...bounds, Infinity];
}

export function union(sets: readonly KeySet[]): KeySet {
  const ranges = sets.flatMap((set) => rangesOf(set)).sort((a, b) => a[0] - b[0]);
  const bounds: number[] = [];
  for (const [from, to] of ranges) {
    const end = bounds.at(-1);
    if (end === undefined || from > end) bounds.push(from, to);
    else bounds[bounds.length - 1] = Math.max(end, to);
  }
  return bounds;
}

export const intersection = (sets: readonly KeySet[]): KeySet => complement(union(sets.map(complement)));

export const hasKey = (keys: KeySet, key: number): boolean =>
  countBelowIn(keys.length, (at) => keys[at]! <= key) % 2 === 1;

/** The ranges, in rising order. */
export const rangesOf = (keys: KeySet): [from: number, to: number][] =>
  Array.from({ length: keys.length / 2 }, (_, i) => [keys[2 * i]!, keys[2 * i + 1]!]);

/** The smallest double above a finite one. The range [x, nextUp(x)) holds x alone. */
export function nextUp(value: number): number {
  if (value === 0) return Number.MIN_VALUE;
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, value);
  bits.setBigInt64(0, bits.getBigInt64(0) + (value > 0 ? 1n : -1n));
  return bits.getFloat64(0);
}
