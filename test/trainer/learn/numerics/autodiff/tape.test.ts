import { expect, test } from "vitest";
import { total } from "../../../../../trainer/learn/numerics/autodiff/pointwise.ts";
import { newTape } from "../../../../../trainer/learn/numerics/autodiff/tape.ts";
import { graphBuilder } from "../../../../../trainer/learn/numerics/onnx/graph.ts";

test("a parameter is declared once", () => {
  const tape = newTape(graphBuilder("twice"));
  tape.parameter("w", [1]);
  expect(() => tape.parameter("w", [1])).toThrow(/declared once/);
});

test("row gradients are refused for what is not a parameter", () => {
  const tape = newTape(graphBuilder("rows"));
  const sum = total(tape, tape.parameter("w", [2]));
  expect(() => tape.rowGradient(sum, { indices: "i", rows: "r" })).toThrow(/belong to parameters/);
});

test("the source decides how parameters enter the graph", () => {
  const tape = newTape(graphBuilder("source"), (name, dims) => `${name}:${dims.join("x")}`);
  expect(tape.parameter("w", [2, 3]).value).toBe("w:2x3");
});
