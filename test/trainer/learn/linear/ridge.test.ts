import { expect, test } from "vitest";
import { meanOf, ridgeOf } from "../../../../trainer/learn/linear/ridge.ts";

test("the ridge is λ · g^γ · mean^(1−γ), with the mean over features that occur: (1 + 4) / 2", () => {
  expect([...ridgeOf(Float64Array.of(1, 4, 0), 2, 0)]).toEqual([5, 5, 5]);
  const half = ridgeOf(Float64Array.of(1, 4, 0), 2, 0.5);
  expect(half[1]).toBeCloseTo(2 * 2 * Math.sqrt(2.5), 12);
});

test("a feature that never occurs gets a thousandth of the mean", () => {
  expect(ridgeOf(Float64Array.of(1, 4, 0), 2, 0.5)[2]).toBeCloseTo(0.0025, 12);
  expect(meanOf(new Float64Array(2))).toBe(1);
});
