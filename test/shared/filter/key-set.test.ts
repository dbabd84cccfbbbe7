import fc from "fast-check";
import { expect, test } from "vitest";
import {
  complement,
  hasKey,
  intersection,
  type KeySet,
  keysFrom,
  NO_KEYS,
  nextUp,
  rangesOf,
  union,
} from "../../../shared/filter/key-set.ts";

const bound = fc.constantFrom(-Infinity, -2, -1, 0, 1, 2, 3, 4, Infinity);
const sets: fc.Arbitrary<KeySet> = fc
  .array(fc.tuple(bound, bound), { maxLength: 4 })
  .map((pairs) => union(pairs.map(([from, to]) => keysFrom(from, to))));
const KEYS = [-Infinity, -2.5, -2, -1.5, -1, 0, 0.5, 1, 2, 3, 3.5, 4, 1e300];
const members = (set: KeySet) => KEYS.filter((key) => hasKey(set, key));

test("union, intersection and complement are the operations on sets", () =>
  fc.assert(
    fc.property(fc.array(sets, { maxLength: 3 }), (all) => {
      expect(members(union(all))).toEqual(KEYS.filter((key) => all.some((set) => hasKey(set, key))));
      expect(members(intersection(all))).toEqual(KEYS.filter((key) => all.every((set) => hasKey(set, key))));
      for (const set of all) expect(members(complement(set))).toEqual(KEYS.filter((key) => !hasKey(set, key)));
    }),
    { numRuns: 1000 },
  ));

test("bounds always rise strictly, so that no range is empty and none touches the next", () =>
  fc.assert(
    fc.property(sets, sets, (a, b) => {
      for (const set of [a, complement(a), union([a, b]), intersection([a, b])]) {
        expect(set.length % 2).toBe(0);
        expect(set.every((value, i) => i === 0 || value > set[i - 1]!)).toBe(true);
      }
    }),
  ));

test("a key is in a half-open range", () => {
  expect(members([1, 3])).toEqual([1, 2]);
  expect(members(NO_KEYS)).toEqual([]);
  expect(members([-Infinity, Infinity])).toEqual(KEYS);
  expect(keysFrom(3, 3)).toEqual([]);
  expect(rangesOf([1, 2, 5, 7])).toEqual([
    [1, 2],
    [5, 7],
  ]);
});

test("nextUp is the smallest number above", () =>
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (x) => {
      const up = nextUp(x);
      expect(up).toBeGreaterThan(x);
      const between = x + (up - x) / 2;
      expect(between === x || between === up || !Number.isFinite(up)).toBe(true);
    }),
  ));
test.each([
  [0, Number.MIN_VALUE],
  [-0, Number.MIN_VALUE],
  [-Number.MIN_VALUE, -0],
  [1, 1 + Number.EPSILON],
  [Number.MAX_VALUE, Infinity],
])("nextUp(%d) is %d", (x, up) => expect(nextUp(x)).toBe(up));
