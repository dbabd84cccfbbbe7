import { describe, expect, test } from "vitest";
import { toMeasured } from "../../../../trainer/choose/evaluate/bootstrap.ts";
import type { Evaluation } from "../../../../trainer/choose/evaluate/evaluate.ts";
import {
  four,
  joined,
  lift,
  listShape,
  measured,
  measuredLift,
  restrictedTo,
  signed,
  usersIn,
} from "../../../../trainer/choose/evaluate/evaluation-figures.ts";

/** Lists of two items for users 2, 5 and 7. */
const evaluation: Evaluation = {
  positions: Uint32Array.of(2, 5, 7),
  owners: Uint32Array.of(2, 5, 7),
  cutOffs: [1, 2],
  listLength: 2,
  lists: Int32Array.of(0, 1, 1, 3, 0, -1),
  values: new Map([["ndcg@2", Float64Array.of(0.1, 0.5, 0.9)]]),
};
const other: Evaluation = { ...evaluation, values: new Map([["ndcg@2", Float64Array.of(0.1, 0.4, 0.8)]]) };

test("a metric with its interval", () => {
  const { "ndcg@2": found } = measured(evaluation, { seed: 1 });
  expect(found!.value).toBeCloseTo(0.5, 12);
  expect(found!.low).toBeGreaterThanOrEqual(0.1);
  expect(found!.high).toBeLessThanOrEqual(0.9);
});
test("figures of no users are null, as JSON requires", () =>
  expect(measured(restrictedTo(evaluation, new Uint32Array(0)), { seed: 1 })).toEqual({
    "ndcg@2": { value: null, low: null, high: null },
  }));
test("a paired difference: (0 + 0.1 + 0.1) / 3", () => {
  expect(lift(evaluation, other, { metric: "ndcg@2", seed: 1 }).value).toBeCloseTo(0.2 / 3, 12);
  expect(measuredLift(other, evaluation, { seed: 1 })["ndcg@2"]!.value).toBeCloseTo(-0.2 / 3, 12);
});
test("infinity is not JSON", () =>
  expect(toMeasured({ value: 1, low: -Infinity, high: Number.NaN })).toEqual({ value: 1, low: null, high: null }));

describe("the shape of all lists together, items with 8 4 2 0 training positives", () => {
  const shape = listShape(evaluation, [8, 4, 2, 0]);
  test("at 1: items 0 1 0 are shown, half of the catalog", () => expect(shape["coverage@1"]).toBe(0.5));
  test("at 2: items 0 1 1 3 0 are shown, three quarters", () => expect(shape["coverage@2"]).toBe(0.75));
  test("their popularity percentile at 1: (0.875 + 0.625 + 0.875) / 3", () =>
    expect(shape["popularity_percentile@1"]).toBeCloseTo(2.375 / 3, 12));
  test("their Gini at 1: shown 0 0 1 2 → (1·1 + 3·2) / (4·3)", () => expect(shape["gini@1"]).toBeCloseTo(7 / 12, 12));
});

test("lists that were not made cannot be picked", () => {
  for (const missing of [1, 3, 8])
    expect(() => restrictedTo(evaluation, Uint32Array.of(missing))).toThrow(`position ${missing}`);
});
test("lists of one user are drawn together, and counted as one user", () => {
  const twice: Evaluation = { ...evaluation, owners: Uint32Array.of(2, 2, 7) };
  expect([usersIn(evaluation), usersIn(twice), usersIn(restrictedTo(twice, Uint32Array.of(2, 5)))]).toEqual([3, 2, 1]);
  const { low } = measured(twice, { seed: 1 })["ndcg@2"]!;
  expect(low).toBeCloseTo(0.3, 12); // the first two lists, never the first alone
  expect(measuredLift(twice, other, { seed: 1 })["ndcg@2"]!.low).toBeCloseTo(0.05, 12);
  expect(lift(twice, other, { metric: "ndcg@2", seed: 1 }).low).toBeCloseTo(0.05, 12);
});
test("a part of the lists and the rest, joined again, are all lists", () => {
  const [outer, inner] = [restrictedTo(evaluation, Uint32Array.of(2, 7)), restrictedTo(evaluation, Uint32Array.of(5))];
  expect([...outer.lists]).toEqual([0, 1, 0, -1]);
  expect(joined(outer, inner)).toEqual(evaluation);
  expect(joined(inner, outer)).toEqual(evaluation);
});

test("figures have four digits, differences have a sign, and a missing figure is unknown", () => {
  expect([0.06474, 1, null].map(four)).toEqual(["0.0647", "1.0000", "unknown"]);
  expect([0.00123, -0.5, 0, null].map(signed)).toEqual(["+0.0012", "−0.5000", "+0.0000", "unknown"]);
});
