import fc from "fast-check";
import { expect, test } from "vitest";
import { searchBounds } from "../../../shared/filter/key-classifier.ts";

const SPECIAL = [
  0,
  -0,
  1,
  -1,
  5e-324,
  Number.MAX_VALUE,
  -Number.MAX_VALUE,
  Infinity,
  -Infinity,
  2 ** 53,
  0.1,
  1e9,
  1e9 + 1,
];
const number = fc.oneof(
  fc.constantFrom(...SPECIAL),
  fc.double({ noNaN: true }),
  fc.integer({ min: -1000, max: 1000 }),
  fc.integer({ min: 0, max: 2 ** 32 - 1 }),
  fc.integer({ min: 0, max: 1000 }).map((step) => 1e6 + step / 1000),
);

test("the class of a key is the number of bounds at or below it, for any numbers", () =>
  fc.assert(
    fc.property(fc.array(number, { maxLength: 60 }), fc.array(number, { minLength: 20 }), (some, keys) => {
      const bounds = [...new Set(some.map((bound) => bound + 0))].sort((a, b) => a - b);
      const { classOf, boundsNear } = searchBounds(bounds);
      for (const key of [...keys, ...bounds, -0]) {
        expect(classOf(key)).toBe(bounds.filter((bound) => bound <= key).length);
        expect(boundsNear(key)).toBeLessThanOrEqual(bounds.length);
      }
    }),
    { numRuns: 300 },
  ));

test.each([
  ["evenly", 3, (i: number) => 5e7 + i * 1e5],
  ["by factors", 3, (i: number) => 1.02 ** i],
  ["below and above 0", 60, (i: number) => (i - 450) ** 3],
])(
  "a key is compared with few bounds if they are spread %s, even if the outermost are infinite",
  (_, most, boundAt) => {
    const bounds = [-Infinity, -Number.MAX_VALUE, ...Array.from({ length: 900 }, (_, i) => boundAt(i)), Infinity];
    const { boundsNear } = searchBounds(bounds);
    const near = Array.from({ length: 899 }, (_, i) => boundsNear((boundAt(i) + boundAt(i + 1)) / 2));
    expect(near.reduce((sum, count) => sum + count) / near.length).toBeLessThan(most);
  },
);

test("a key is compared with all bounds if they share one bucket", () => {
  const bounds = [1, ...Array.from({ length: 100 }, (_, i) => 2 + i * 1e-12), 1e300];
  expect(searchBounds(bounds).boundsNear(2)).toBeGreaterThanOrEqual(100);
});
