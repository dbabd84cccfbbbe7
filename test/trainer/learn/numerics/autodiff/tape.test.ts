import { expect, test } from "vitest";
import { add, gatherRows, linear, multiply } from "../../../../../trainer/learn/numerics/autodiff/operators.ts";
import { newTape } from "../../../../../trainer/learn/numerics/autodiff/tape.ts";
import { graphBuilder } from "../../../../../trainer/learn/numerics/onnx/graph.ts";
import { total } from "./gradient-check.ts";

test("a parameter is declared once", () => {
  const tape = newTape(graphBuilder("twice"));
  tape.parameter("w", [1]);
  expect(() => tape.parameter("w", [1])).toThrow(/declared once/);
});

test("row gradients of a tensor that is no parameter are refused", () => {
  const tape = newTape(graphBuilder("rows"));
  const sum = total(tape, tape.parameter("w", [2]));
  expect(() => tape.rowGradient(sum, { indices: "i", rows: "r" })).toThrow(/belong to parameters/);
});

test("the source decides how parameters enter the graph", () => {
  const tape = newTape(graphBuilder("source"), (name, dims) => `${name}:${dims.join("x")}`);
  expect(tape.parameter("w", [2, 3]).value).toBe("w:2x3");
});

test("only parameters that lead to the loss get a gradient, and each gets one", () => {
  const tape = newTape(graphBuilder("reach"));
  const [used, unused] = [tape.parameter("used", [2]), tape.parameter("unused", [2])];
  add(tape, unused, used);
  const parts = tape.gradients(total(tape, multiply(tape, used, used)));
  expect(parts.map(({ kind, parameter }) => [kind, parameter])).toEqual([["dense", "used"]]);
});

test("a table that is gathered twice and multiplied once gets two row pieces and a dense one", () => {
  const tape = newTape(graphBuilder("pieces"));
  tape.graph.input("indices", "int32", [3]);
  const table = tape.parameter("table", [3, 3]);
  const first = gatherRows(tape, table, "indices");
  const second = gatherRows(tape, table, "indices");
  const parts = tape.gradients(total(tape, linear(tape, add(tape, first, second), { weight: table })));
  expect(parts.map(({ kind }) => kind).toSorted()).toEqual(["dense", "rows", "rows"]);
});
