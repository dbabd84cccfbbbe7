import fc from "fast-check";
import { expect, test } from "vitest";
import { addToBloom, type Bloom, createBloom, isInBloom } from "../../shared/bloom.ts";

/** The fraction of items below `itemCount` that were not added but are found. */
function measuredRate(bloom: Bloom, added: ReadonlySet<number>, itemCount: number): number {
  let asked = 0;
  let wrong = 0;
  for (let item = 0; item < itemCount; item++) {
    if (added.has(item)) continue;
    asked++;
    if (isInBloom(bloom, item)) wrong++;
  }
  return wrong / asked;
}

const filled = (items: Iterable<number>, count: number) => {
  const bloom = createBloom(count, 0.001);
  for (const item of items) addToBloom(bloom, item);
  return bloom;
};

test("an added item is always found", () =>
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(0xffffffff), { maxLength: 200, size: "max" }), (items) => {
      const bloom = filled(items, items.length);
      expect(items.every((item) => isInBloom(bloom, item))).toBe(true);
    }),
  ));

test("an empty filter finds nothing", () => {
  const bloom = createBloom(0, 0.001);
  expect(measuredRate(bloom, new Set(), 1000)).toBe(0);
});

/** The false positive rate over many filters of one size, with adjacent, evenly spread or random items. */
function rateAt(count: number): number {
  const trials = Math.max(4, Math.ceil(300 / count));
  let sum = 0;
  for (let trial = 0; trial < trials; trial++) {
    const step = [1, 97, 1021][trial % 3]!;
    const items = new Set(Array.from({ length: count }, (_, i) => trial * 50_021 + i * step));
    sum += measuredRate(filled(items, count), items, 40_000);
  }
  return sum / trials;
}

test.each([1, 2, 3, 4, 5, 8, 13, 20, 50, 130, 1000, 5000])(
  "with %i items at most one in a thousand others is wrongly found",
  (count) => expect(rateAt(count)).toBeLessThan(0.001),
);

test("sizes: at most 15.1 bits an item at one in a thousand, and ten hashes", () => {
  expect(createBloom(1000, 0.001).hashCount).toBe(10);
  expect(createBloom(1000, 0.001).bytes.length * 8).toBeLessThan(15_100);
  expect(createBloom(20, 0.001).bytes.length).toBeLessThanOrEqual(40);
  expect(createBloom(1000, 0.01).bytes.length * 8).toBeLessThan(10_100);
});

test("a full filter has about half of its bits set, so no size is wasteful", () => {
  const items = Array.from({ length: 1000 }, (_, i) => i);
  const ones = filled(items, 1000).bytes.reduce((sum, byte) => sum + byte.toString(2).replaceAll("0", "").length, 0);
  expect(ones / (filled(items, 1000).bytes.length * 8)).toBeCloseTo(0.49, 1);
});

test("a rate of 0 is refused", () => expect(() => createBloom(1, 0)).toThrow("a rate between 0 and 1"));
