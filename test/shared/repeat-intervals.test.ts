import fc from "fast-check";
import { expect, test } from "vitest";
import type { ItemIndex } from "../../shared/ids.ts";
import { decodeRepeatIntervals, encodeRepeatIntervals } from "../../shared/repeat-intervals.ts";

test("an item has its own interval, and others the usual one", () =>
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.tuple(fc.nat(19), fc.float({ min: Math.fround(0.01), max: 1000, noNaN: true })), {
        selector: ([item]) => item,
      }),
      fc.double({ min: 0.01, max: 1000, noNaN: true }),
      (entries, usualDays) => {
        const sorted = entries.toSorted(([a], [b]) => a - b);
        const table = {
          ...{ itemCount: 20, usualDays },
          items: Uint32Array.from(sorted, ([item]) => item),
          days: Float32Array.from(sorted, ([, days]) => days),
        };
        const { daysOf } = decodeRepeatIntervals(encodeRepeatIntervals(table));
        const own = new Map(entries);
        for (let item = 0; item < 25; item++) expect(daysOf(item as ItemIndex)).toBe(own.get(item) ?? usualDays);
      },
    ),
  ));

test("a file that contradicts itself is refused", () => {
  const right = { itemCount: 3, usualDays: 2, items: Uint32Array.of(0, 2), days: Float32Array.of(1, 2) };
  expect(() => decodeRepeatIntervals(encodeRepeatIntervals(right))).not.toThrow();
  for (const change of [
    { items: Uint32Array.of(2, 0) },
    { items: Uint32Array.of(0, 3) },
    { days: Float32Array.of(1, 0) },
    { days: Float32Array.of(1, Number.NaN) },
    { days: Float32Array.of(1) },
  ])
    expect(() => decodeRepeatIntervals(encodeRepeatIntervals({ ...right, ...change }))).toThrow("repeat-intervals");
});
