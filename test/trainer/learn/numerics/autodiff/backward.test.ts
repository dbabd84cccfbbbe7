import { expect, test } from "vitest";
import { linear } from "../../../../../trainer/learn/numerics/autodiff/linear.ts";
import { add, multiply, total } from "../../../../../trainer/learn/numerics/autodiff/pointwise.ts";
import { gatherRows } from "../../../../../trainer/learn/numerics/autodiff/rows.ts";
import { newTape } from "../../../../../trainer/learn/numerics/autodiff/tape.ts";
import { graphBuilder } from "../../../../../trainer/learn/numerics/onnx/graph.ts";

test("only parameters that lead to the loss get a gradient, each once", () => {
  const tape = newTape(graphBuilder("reach"));
  const [used, unused] = [tape.parameter("used", [2]), tape.parameter("unused", [2])];
  add(tape, unused, used);
  const parts = tape.gradients(total(tape, multiply(tape, used, used)));
  expect(parts.map(({ kind, parameter }) => [kind, parameter])).toEqual([["dense", "used"]]);
});

test("a table that is gathered twice and multiplied once has two row pieces and a dense one", () => {
  const tape = newTape(graphBuilder("pieces"));
  tape.graph.input("indices", "int32", [3]);
  const table = tape.parameter("table", [3, 3]);
  const first = gatherRows(tape, table, "indices");
  const second = gatherRows(tape, table, "indices");
  const parts = tape.gradients(total(tape, linear(tape, add(tape, first, second), { weight: table })));
  expect(parts.map(({ kind }) => kind).toSorted()).toEqual(["dense", "rows", "rows"]);
});
