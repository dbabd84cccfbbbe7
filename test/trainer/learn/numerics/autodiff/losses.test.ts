import { expect, test } from "vitest";
import { dotProducts, logPartition } from "../../../../../trainer/learn/numerics/autodiff/losses.ts";
import { add, gatherRows, scale } from "../../../../../trainer/learn/numerics/autodiff/operators.ts";
import { parameter } from "../../../../../trainer/learn/numerics/autodiff/parameters.ts";
import { newTape } from "../../../../../trainer/learn/numerics/autodiff/tape.ts";
import { compileStep } from "../../../../../trainer/learn/numerics/autodiff/training-step.ts";
import { graphBuilder } from "../../../../../trainer/learn/numerics/onnx/graph.ts";
import { checkGradients, float32, int32 } from "./gradient-check.ts";

test("the cross entropy of one row with scores (0, ln 3) and target 1 is ln(4/3)", async () => {
  const parameters = new Map([
    ["hidden", parameter([1, 1], () => 1)],
    ["table", parameter([2, 1], (i) => i * Math.log(3))],
  ]);
  const tape = newTape(graphBuilder("one-row"));
  const { graph } = tape;
  const [hidden, items] = [tape.parameter("hidden", [1, 1]), tape.parameter("table", [2, 1])];
  const correction = graph.input("correction", "float32", [2]);
  const weights = graph.input("weights", "float32", [1]);
  const push = logPartition(tape, { hidden, items, correction, weights });
  const pull = dotProducts(tape, hidden, gatherRows(tape, items, graph.input("targets", "int32", [1])));
  const step = await compileStep(tape, add(tape, push, scale(tape, pull, -1)), parameters);
  const inputs = { correction: float32([0, 0], [2]), weights: float32([1], [1]), targets: int32(1) };
  expect(await step.run(inputs)).toBeCloseTo(Math.log(4 / 3), 6);
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

test("gradients of the log partition with items left out of two rows", () =>
  checkGradients({
    shapes,
    inputs: {
      weights: float32([0.5, 1, 2], [3]),
      correction: float32([1, 0, -1, 0.5, 0], [5]),
      left_out: int32(1, 4, 10),
    },
    build: (tape, { hidden, items }) =>
      logPartition(tape, {
        ...{ hidden: hidden!, items: items!, weights: "weights", correction: "correction", leftOut: "left_out" },
      }),
  }));

test("gradients of dot products", () =>
  checkGradients({
    shapes: { a: [3, 4], b: [3, 4] },
    build: (tape, { a, b }) => dotProducts(tape, a!, b!),
  }));
