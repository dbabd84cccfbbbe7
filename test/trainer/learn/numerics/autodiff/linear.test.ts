import { test } from "vitest";
import { linear } from "../../../../../trainer/learn/numerics/autodiff/linear.ts";
import { checkGradients } from "./gradient-check.ts";

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
