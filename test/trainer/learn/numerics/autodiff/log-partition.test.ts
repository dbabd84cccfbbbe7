import { test } from "vitest";
import { dotProducts, logPartition } from "../../../../../trainer/learn/numerics/autodiff/log-partition.ts";
import { checkGradients, float32 } from "./gradient-check.ts";

const shapes = { hidden: [3, 4], items: [5, 4] };

test("gradients of the weighted log partition", () =>
  checkGradients({
    shapes,
    inputs: { weights: float32([0.5, 0, 2], [3]) },
    build: (tape, { hidden, items }) => logPartition(tape, { hidden: hidden!, items: items!, weights: "weights" }),
  }));

test("gradients of the weighted log partition with correction", () =>
  checkGradients({
    shapes,
    inputs: { weights: float32([1, 1, 2], [3]), correction: float32([1, 0, -1, 0.5, 0], [5]) },
    build: (tape, { hidden, items }) =>
      logPartition(tape, { hidden: hidden!, items: items!, weights: "weights", correction: "correction" }),
  }));

test("gradients of dot products", () =>
  checkGradients({
    shapes: { a: [3, 4], b: [3, 4] },
    build: (tape, { a, b }) => dotProducts(tape, a!, b!),
  }));
