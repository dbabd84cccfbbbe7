import { expect, test } from "vitest";
import { adam } from "../../../../../trainer/learn/numerics/autodiff/adam.ts";
import { dotProducts, logPartition } from "../../../../../trainer/learn/numerics/autodiff/losses.ts";
import { add, gatherRows, linear, scale } from "../../../../../trainer/learn/numerics/autodiff/operators.ts";
import { parameter } from "../../../../../trainer/learn/numerics/autodiff/parameters.ts";
import { newTape } from "../../../../../trainer/learn/numerics/autodiff/tape.ts";
import { compileStep } from "../../../../../trainer/learn/numerics/autodiff/training-step.ts";
import { graphBuilder } from "../../../../../trainer/learn/numerics/onnx/graph.ts";
import { float32, int32, total, wobble } from "./gradient-check.ts";

test.each([false, true])("a small network learns which item follows which (lazy table: %s)", async (lazy) => {
  const inputTable = parameter([6, 4], wobble(1), { lazy });
  const outputTable = parameter([6, 4], wobble(2));
  const parameters = new Map([
    ["input", inputTable],
    ["weight", parameter([4, 4], wobble(3))],
    ["output", outputTable],
  ]);
  const tape = newTape(graphBuilder("follow"));
  const rows = gatherRows(tape, tape.parameter("input", [6, 4]), tape.graph.input("items", "int32", ["n"]));
  const hidden = linear(tape, rows, { weight: tape.parameter("weight", [4, 4]) });
  const table = tape.parameter("output", [6, 4]);
  const correction = tape.graph.input("correction", "float32", [6]);
  const push = logPartition(tape, {
    hidden,
    items: table,
    correction,
    weights: tape.graph.input("weights", "float32", [6]),
  });
  const pull = dotProducts(tape, hidden, gatherRows(tape, table, tape.graph.input("targets", "int32", ["n"])));
  const step = await compileStep(tape, add(tape, push, scale(tape, pull, -1)), parameters);
  const optimizer = adam(parameters);
  const inputs = {
    items: int32(0, 1, 2, 3, 4, 5),
    targets: int32(1, 2, 3, 4, 5, 0),
    correction: float32([0, 0, 0, 0, 0, 0], [6]),
    weights: float32([1, 1, 1, 1, 1, 1], [6]),
  };
  const first = await step.run(inputs);
  for (let i = 0; i < 200; i++) {
    optimizer.step(0.05);
    await step.run(inputs);
  }
  expect(first / 6).toBeGreaterThan(1.5);
  expect((await step.run(inputs)) / 6).toBeLessThan(0.05);
  await step.release();
});

test("a loss that is not a number stops the training", async () => {
  const weights = parameter([2], () => Number.POSITIVE_INFINITY);
  const tape = newTape(graphBuilder("infinite"));
  const step = await compileStep(tape, total(tape, tape.parameter("w", [2])), new Map([["w", weights]]));
  await expect(step.run({})).rejects.toThrow(/lower the learning rate/);
  await step.release();
});
