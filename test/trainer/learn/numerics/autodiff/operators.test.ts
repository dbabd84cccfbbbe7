import { test } from "vitest";
import {
  add,
  dropout,
  exponential,
  gatherRows,
  layerNorm,
  linear,
  multiply,
  poolRows,
  relu,
  scale,
  selectRows,
  unitRows,
} from "../../../../../trainer/learn/numerics/autodiff/operators.ts";
import { checkGradients, float32, int32, total } from "./gradient-check.ts";

const shapes = { a: [3, 4], b: [3, 4] };
const outputShape = [3, 4];

test("gradient of a + b", () => checkGradients({ shapes, outputShape, build: (tape, { a, b }) => add(tape, a!, b!) }));

test("gradient of a ∘ b", () =>
  checkGradients({ shapes, outputShape, build: (tape, { a, b }) => multiply(tape, a!, b!) }));

test("a tensor that is used twice gets the sum of both gradients: d(a ∘ a) = 2 a", () =>
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

test("gradients of x w + b", () =>
  checkGradients({
    shapes: { x: [5, 3], w: [3, 2], b: [2] },
    outputShape: [5, 2],
    build: (tape, { x, w, b }) => linear(tape, x!, { weight: w!, bias: b! }),
  }));

test("gradients of x w", () =>
  checkGradients({
    shapes: { x: [5, 3], w: [3, 2] },
    outputShape: [5, 2],
    build: (tape, { x, w }) => linear(tape, x!, { weight: w! }),
  }));

test("gradients of layer normalisation", () =>
  checkGradients({
    shapes: { x: [4, 6], gain: [6], bias: [6] },
    outputShape: [4, 6],
    build: (tape, { x, gain, bias }) => layerNorm(tape, x!, { gain: gain!, bias: bias! }),
  }));

test("gradient of unit rows", () =>
  checkGradients({ shapes: { x: [4, 6] }, outputShape: [4, 6], build: (tape, { x }) => unitRows(tape, x!) }));

test("gradients of gathered rows add up for an index that occurs three times", () =>
  checkGradients({
    shapes: { table: [5, 2] },
    inputs: { indices: int32(3, 1, 3, 0, 3) },
    outputShape: [5, 2],
    build: (tape, { table }) => {
      const rows = gatherRows(tape, table!, "indices");
      return multiply(tape, rows, rows);
    },
  }));

test("gradients of selected rows; other rows get none", () =>
  checkGradients({
    shapes: { x: [4, 3] },
    inputs: { positions: int32(3, 0), inverse: int32(1, 2, 2, 0) },
    outputShape: [2, 3],
    build: (tape, { x }) => selectRows(tape, multiply(tape, x!, x!), { positions: "positions", inverse: "inverse" }),
  }));

test("gradients of weighted sums of rows that occur in several groups and twice in one", () =>
  checkGradients({
    shapes: { table: [4, 3], weights: [2, 3] },
    inputs: { members: int32(0, 2, 2, 3, 0, 1).reshape([2, 3]) as ReturnType<typeof int32> },
    outputShape: [2, 3],
    build: (tape, { table, weights }) => poolRows(tape, gatherRows(tape, table!, "members"), weights!),
  }));
