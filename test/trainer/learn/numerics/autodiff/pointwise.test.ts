import { test } from "vitest";
import {
  add,
  dropout,
  exponential,
  multiply,
  relu,
  scale,
  total,
} from "../../../../../trainer/learn/numerics/autodiff/pointwise.ts";
import { checkGradients, float32 } from "./gradient-check.ts";

const shapes = { a: [3, 4], b: [3, 4] };
const outputShape = [3, 4];

test("gradient of a + b", () => checkGradients({ shapes, outputShape, build: (tape, { a, b }) => add(tape, a!, b!) }));

test("gradient of a ∘ b", () =>
  checkGradients({ shapes, outputShape, build: (tape, { a, b }) => multiply(tape, a!, b!) }));

test("a tensor used twice gets the sum of both gradients: d(a ∘ a) = 2 a", () =>
  checkGradients({ shapes: { a: [3, 4] }, outputShape, build: (tape, { a }) => multiply(tape, a!, a!) }));

test("gradient of 2.5 a", () =>
  checkGradients({ shapes: { a: [3, 4] }, outputShape, build: (tape, { a }) => scale(tape, a!, 2.5) }));

test("gradient of relu, away from its corner", () => {
  const fill = (i: number) => (i % 2 ? 1 : -1) * (0.3 + i / 10);
  return checkGradients({ shapes: { a: [3, 4] }, fill, outputShape, build: (tape, { a }) => relu(tape, a!) });
});

test("gradient through a dropout mask", () => {
  const inputs = { mask: float32([0, 2, 2, 0, 2, 0, 0, 2, 2, 2, 0, 2], [3, 4]) };
  return checkGradients({
    shapes: { a: [3, 4] },
    inputs,
    outputShape,
    build: (tape, { a }) => dropout(tape, a!, "mask"),
  });
});

test("gradient of the sum", () => checkGradients({ shapes: { a: [3, 4] }, build: (tape, { a }) => total(tape, a!) }));

test("gradient of the exponential", () =>
  checkGradients({ shapes: { a: [3, 4] }, outputShape, build: (tape, { a }) => exponential(tape, a!) }));
