import fc from "fast-check";
import { expect, test } from "vitest";
import * as z from "zod";
import { FormatError } from "../../shared/assert.ts";
import { decodeContainer, encodeContainer, type TypedArray } from "../../shared/container.ts";
import type { ItemIndex } from "../../shared/ids.ts";
import { decodeRepeatIntervals, encodeRepeatIntervals } from "../../shared/repeat-intervals.ts";

const WEIGHTS = [0.4, 0.6, 0, -0.05, 0.4, 0.8, 0.3];

test("an item has its own interval and rate, and others the usual ones", () =>
  fc.assert(
    fc.property(
      fc.uniqueArray(
        fc.tuple(
          fc.nat(19),
          fc.float({ min: Math.fround(0.01), max: 1000, noNaN: true }),
          fc.float({ min: Math.fround(1e-6), max: 1, noNaN: true }),
        ),
        { selector: ([item]) => item },
      ),
      fc.double({ min: 0.01, max: 1000, noNaN: true }),
      fc.double({ min: 1e-6, max: 1, noNaN: true }),
      (entries, usualDays, usualRate) => {
        const sorted = entries.toSorted(([a], [b]) => a - b);
        const table = {
          ...{ itemCount: 20, usualDays, usualRate, weights: WEIGHTS },
          items: Uint32Array.from(sorted, ([item]) => item),
          days: Float32Array.from(sorted, ([, days]) => days),
          rates: Float32Array.from(sorted, ([, , rate]) => rate),
        };
        const { daysOf, rateOf, weights } = decodeRepeatIntervals(encodeRepeatIntervals(table));
        expect(weights).toEqual(WEIGHTS);
        const own = new Map(entries.map(([item, ...values]) => [item, values]));
        for (let item = 0; item < 25; item++)
          expect([daysOf(item as ItemIndex), rateOf(item as ItemIndex)]).toEqual(
            own.get(item) ?? [usualDays, usualRate],
          );
      },
    ),
  ));

const RIGHT = {
  ...{ itemCount: 3, usualDays: 2, usualRate: 0.1, weights: WEIGHTS },
  items: Uint32Array.of(0, 2),
  days: Float32Array.of(1, 2),
  rates: Float32Array.of(0.5, 1),
};

test("a file that contradicts itself is refused", () => {
  expect(() => decodeRepeatIntervals(encodeRepeatIntervals(RIGHT))).not.toThrow();
  for (const change of [
    { items: Uint32Array.of(2, 0) },
    { items: Uint32Array.of(0, 3) },
    { days: Float32Array.of(1, 0) },
    { days: Float32Array.of(1, Number.NaN) },
    { days: Float32Array.of(1) },
    { rates: Float32Array.of(1, 0) },
    { rates: Float32Array.of(1, 1.5) },
    { rates: Float32Array.of(1, Number.NaN) },
    { rates: Float32Array.of(1) },
  ])
    expect(() => decodeRepeatIntervals(encodeRepeatIntervals({ ...RIGHT, ...change }))).toThrow("repeat-intervals");
});

type Content = { readonly metadata: Record<string, unknown>; readonly arrays: Record<string, TypedArray> };

/** The file with some of its metadata or arrays left out or changed; undefined leaves out. */
function changed(metadata: Record<string, unknown>, arrays: Record<string, TypedArray | undefined> = {}): Uint8Array {
  const today = decodeContainer(encodeRepeatIntervals(RIGHT), "repeat-intervals", anything);
  const all = { ...Object.fromEntries(today.arrays), ...arrays };
  const kept = Object.entries(all).filter((entry): entry is [string, TypedArray] => entry[1] !== undefined);
  const content: Content = { metadata: { ...today.metadata, ...metadata }, arrays: Object.fromEntries(kept) };
  return encodeContainer({ kind: "repeat-intervals", ...content });
}
const anything = z.record(z.string(), z.unknown());

test("odds come back as they were written, and wrong ones are refused", () => {
  const odds = {
    intercept: -1.5,
    slope: 0.7,
    range: [-3, 2] as const,
    places: Array.from({ length: 9 }, (_, range) => 0.1 / (range + 1)),
  };
  expect(decodeRepeatIntervals(encodeRepeatIntervals({ ...RIGHT, odds })).odds).toEqual(odds);
  expect(decodeRepeatIntervals(encodeRepeatIntervals(RIGHT)).odds).toBeUndefined();
  const wrong = [
    { range: [1] },
    { places: [0.1] },
    { places: odds.places.with(3, 0) },
    { slope: "1" },
    { intercept: null },
  ];
  for (const change of wrong)
    expect(() => decodeRepeatIntervals(changed({ odds: { ...odds, ...change } }))).toThrow(FormatError);
});

test("a file of an earlier release has intervals alone: no weights, and no rate that tells items apart", () => {
  const file = changed({ usual_rate: undefined, weights: undefined }, { rates: undefined });
  const { daysOf, rateOf, weights } = decodeRepeatIntervals(file);
  expect(weights).toBeUndefined();
  expect([0, 1, 2].map((item) => daysOf(item as ItemIndex))).toEqual([1, 2, 2]);
  expect([0, 1, 2].map((item) => rateOf(item as ItemIndex))).toEqual([1, 1, 1]);
});

test.each([
  ["without weights", changed({ weights: undefined })],
  ["without the usual rate", changed({ usual_rate: undefined })],
  ["without rates", changed({}, { rates: undefined })],
  ["with rates alone", changed({ usual_rate: undefined, weights: undefined })],
  ["with too few weights", changed({ weights: WEIGHTS.slice(1) })],
  ["with a weight that is no number", changed({ weights: [...WEIGHTS.slice(1), null] })],
  ["with a usual rate of 0", changed({ usual_rate: 0 })],
  ["with a usual rate above 1", changed({ usual_rate: 1.01 })],
])("a file %s is refused", (_, file) => expect(() => decodeRepeatIntervals(file)).toThrow(FormatError));
