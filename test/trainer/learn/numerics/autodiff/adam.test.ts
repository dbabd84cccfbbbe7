import { expect, test } from "vitest";
import { adam } from "../../../../../trainer/learn/numerics/autodiff/adam.ts";
import { addRowGradient, parameter } from "../../../../../trainer/learn/numerics/autodiff/parameters.ts";

test("the first step moves every weight by the learning rate, against its gradient", () => {
  const weights = parameter([3], () => 1);
  weights.gradient.set([2, -0.001, 0]);
  adam(new Map([["w", weights]])).step(0.1);
  expect(weights.value[0]).toBeCloseTo(0.9, 5);
  expect(weights.value[1]).toBeCloseTo(1.1, 4);
  expect(weights.value[2]).toBe(1);
});

test("two steps with gradients 1 and 3 and rate 0.1 are as computed by hand", () => {
  // m₂ = .9·.1 + .1·3 = .39, m̂ = .39/.19; v₂ = .999·.001 + .001·9 = .009999, v̂ = .009999/.001999.
  const weight = parameter([1], () => 0);
  const optimizer = adam(new Map([["w", weight]]));
  weight.gradient[0] = 1;
  optimizer.step(0.1);
  weight.gradient[0] = 3;
  optimizer.step(0.1);
  const second = (0.1 * (0.39 / 0.19)) / Math.sqrt(0.009999 / 0.001999);
  expect(weight.value[0]).toBeCloseTo(-0.1 - second, 5);
});

test("rows of a lazy table without a gradient keep their values and moments", () => {
  const table = parameter([3, 1], () => 1, { lazy: true });
  const optimizer = adam(new Map([["t", table]]));
  addRowGradient(table, Int32Array.of(1), Float32Array.of(1));
  optimizer.step(0.1);
  expect([...table.value].map((weight) => weight === 1)).toEqual([true, false, true]);
  const afterOne = table.value[1];
  optimizer.step(0.1);
  expect(table.value[1]).toBe(afterOne);
});
