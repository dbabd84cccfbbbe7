import { expect, test } from "vitest";
import {
  dotProducts,
  linearCrossEntropy,
  logPartition,
} from "../../../../../trainer/learn/numerics/autodiff/losses.ts";
import { parameter } from "../../../../../trainer/learn/numerics/autodiff/parameters.ts";
import { newTape } from "../../../../../trainer/learn/numerics/autodiff/tape.ts";
import { compileStep } from "../../../../../trainer/learn/numerics/autodiff/training-step.ts";
import { graphBuilder } from "../../../../../trainer/learn/numerics/onnx/graph.ts";
import { checkGradients, float32, int32 } from "./gradient-check.ts";

test("gradients of the cross entropy over every row of the table", () =>
  checkGradients({
    shapes: { hidden: [4, 3], table: [5, 3] },
    inputs: { targets: int32(2, 0, 2, 4) },
    build: (tape, { hidden, table }) =>
      linearCrossEntropy(tape, { hidden: hidden!, table: table!, targets: "targets" }),
  }));

test("gradients of the cross entropy over drawn candidates with correction", () =>
  checkGradients({
    shapes: { hidden: [4, 3], table: [6, 3] },
    inputs: {
      targets: int32(2, 0, 2, 4),
      indices: int32(4, 2, 0, 5),
      targetPlaces: int32(1, 2, 1, 0),
      correction: float32([0.5, -0.3, 0, 1], [4]),
    },
    build: (tape, { hidden, table }) =>
      linearCrossEntropy(tape, {
        hidden: hidden!,
        table: table!,
        targets: "targets",
        candidates: { indices: "indices", targetPlaces: "targetPlaces", correction: "correction" },
      }),
  }));

test("the loss of one row with scores (0, ln 3) and target 1 is ln(4/3)", async () => {
  const parameters = new Map([
    ["hidden", parameter([1, 1], () => 1)],
    ["table", parameter([2, 1], (i) => i * Math.log(3))],
  ]);
  const tape = newTape(graphBuilder("one-row"));
  tape.graph.input("targets", "int32", [1]);
  const [hidden, table] = [tape.parameter("hidden", [1, 1]), tape.parameter("table", [2, 1])];
  const step = await compileStep(tape, linearCrossEntropy(tape, { hidden, table, targets: "targets" }), parameters);
  expect(await step.run({ targets: int32(1) })).toBeCloseTo(Math.log(4 / 3), 6);
  await step.release();
});

const shapes = { hidden: [3, 4], items: [5, 4] };

test("gradients of the weighted log partition", () =>
  checkGradients({
    shapes,
    inputs: { weights: float32([0.5, 0, 2], [3]), correction: float32([1, 0, -1, 0.5, 0], [5]) },
    build: (tape, { hidden, items }) =>
      logPartition(tape, { hidden: hidden!, items: items!, weights: "weights", correction: "correction" }),
  }));

test("gradients of dot products", () =>
  checkGradients({
    shapes: { a: [3, 4], b: [3, 4] },
    build: (tape, { a, b }) => dotProducts(tape, a!, b!),
  }));
