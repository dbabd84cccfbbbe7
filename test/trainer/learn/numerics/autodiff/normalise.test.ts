import { test } from "vitest";
import { layerNorm, unitRows } from "../../../../../trainer/learn/numerics/autodiff/normalise.ts";
import { checkGradients } from "./gradient-check.ts";

test("gradients of layer normalisation", () =>
  checkGradients({
    shapes: { x: [4, 6], gain: [6], bias: [6] },
    outputShape: [4, 6],
    build: (tape, { x, gain, bias }) => layerNorm(tape, x!, { gain: gain!, bias: bias! }),
  }));

test("gradient of unit rows", () =>
  checkGradients({ shapes: { x: [4, 6] }, outputShape: [4, 6], build: (tape, { x }) => unitRows(tape, x!) }));
