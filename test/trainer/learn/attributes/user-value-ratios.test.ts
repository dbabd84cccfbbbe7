import { expect, test } from "vitest";
import { headCountFor } from "../../../../shared/user-values.ts";
import {
  countValues,
  userValueRatios,
  VALUE_RATIO_GRID,
} from "../../../../trainer/learn/attributes/user-value-ratios.ts";
import type { Interactions } from "../../../../trainer/read/dataset/dataset.ts";

/** Four users and three items: user 0 chose 0 twice and 1, user 1 chose 0, user 2 chose 2 and rejected 0, user 3 has no interaction. */
const data: Interactions = {
  userCount: 4,
  itemCount: 3,
  userStart: Uint32Array.of(0, 3, 4, 6, 6),
  items: Int32Array.of(0, 1, 0, 0, 2, 0),
  times: new Uint32Array(6),
  positive: Uint8Array.of(1, 1, 1, 1, 1, 0),
  ratings: null,
};
/** Users 0 and 2 have value 0, users 0, 1 and 3 value 1. */
const codes = { start: Uint32Array.of(0, 2, 3, 4, 5), codes: Uint8Array.of(0, 1, 1, 0, 1) };
const counted = countValues(data, codes, 2);

test("choices are counted once per user, by item and value; negative interactions are not", () => {
  expect([counted.chosen, [...counted.ofItem], [...counted.ofValue]]).toEqual([4, [2, 1, 1], [3, 3]]);
  expect([...counted.pairs]).toEqual([1, 1, 1, 2, 1, 0]);
});

test("a ratio is weight · log((c + s) ÷ (e + s)): value 1 chose item 0 twice, 1.5 times were expected", () => {
  const popularity = Float64Array.of(2, 1, 1);
  const { base, ratios } = userValueRatios(counted, popularity, { shrink: 10, weight: 0.5, values: [1, 0] });
  expect(ratios[0]![0]).toBeCloseTo(0.5 * Math.log(12 / 11.5), 6);
  expect(ratios[0]![2]).toBeCloseTo(0.5 * Math.log(10 / 10.75), 6);
  expect(ratios[1]![2]).toBeCloseTo(0.5 * Math.log(11 / 10.75), 6);
  expect([...base]).toEqual([2.5, 1.5, 1.5].map((count) => Math.fround(Math.log(count))));
});

test("with decayed popularity, unchosen items have finite scores and the catalog order is kept", () => {
  const { base } = userValueRatios(counted, Float64Array.of(0.2, 0.3, 0), {
    shrink: 10,
    weight: 1,
    values: [0],
  });
  expect(base.every(Number.isFinite)).toBe(true);
  expect([base[1]! <= base[0]!, base[2]! < base[1]!]).toEqual([true, true]);
  const nothing = countValues({ ...data, positive: new Uint8Array(6) }, codes, 2);
  const silent = userValueRatios(nothing, new Float64Array(3), { shrink: 10, weight: 1, values: [0, 1] });
  expect([silent.base, ...silent.ratios].flatMap((row) => [...row])).toEqual([
    ...Array(3).fill(Math.fround(Math.log(0.5))),
    ...Array(6).fill(0),
  ]);
});

test("in a large catalog only the most popular items have ratios, as many as the file can hold", () => {
  const itemCount = 100_000;
  const large = countValues({ ...data, itemCount }, codes, 200);
  expect(large.headCount).toBe(headCountFor(itemCount, 200));
  expect(large.headCount).toBeLessThan(itemCount);
  const { base, ratios } = userValueRatios(large, new Float64Array(itemCount), { shrink: 1, weight: 1, values: [0] });
  expect([base.length, ratios[0]!.length]).toEqual([large.headCount, large.headCount]);
});

test("the settings are distinct and the best guess comes first", () => {
  expect(VALUE_RATIO_GRID[0]).toEqual({ shrink: 30, weight: 0.75 });
  expect(new Set(VALUE_RATIO_GRID.map((params) => JSON.stringify(params))).size).toBe(VALUE_RATIO_GRID.length);
});
