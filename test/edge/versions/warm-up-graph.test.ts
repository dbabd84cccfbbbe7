import * as ort from "onnxruntime-node";
import { expect, test } from "vitest";
import { warmUpGraph } from "../../../edge/versions/warm-up-graph.ts";
import { graphBuilder } from "../../../trainer/learn/numerics/onnx/graph.ts";

test("the bytes equal those built from the definition", () => {
  const graph = graphBuilder("warm_up");
  graph.input("items", "int32", ["L"]);
  graph.input("ages_days", "float32", ["L"]);
  const axis = (value: bigint) => graph.constant({ type: "int64", dims: [1], data: BigInt64Array.of(value) });
  const table = graph.constant({ type: "float32", dims: [2, 2], data: Float32Array.of(1, 0, 0, 1) });
  const rows = graph.op("Gather", [table, "items"]);
  const ages = graph.op("Unsqueeze", ["ages_days", axis(1n)]);
  const weighted = graph.op("Mul", [rows, graph.op("Exp", [graph.op("Neg", [ages])])]);
  const user = graph.op("ReduceSum", [weighted, axis(0n)], { keepdims: { int: 1 } });
  const scores = graph.op("Reshape", [graph.op("MatMul", [user, table]), axis(-1n)]);
  graph.output("scores", scores, "float32", [2]);
  expect(Buffer.from(warmUpGraph())).toEqual(Buffer.from(graph.build()));
});
test("another runtime computes the same: item 1 a day ago scores e⁻¹ for item 1", async () => {
  const session = await ort.InferenceSession.create(warmUpGraph());
  const items = new ort.Tensor("int32", Int32Array.of(1), [1]);
  const ages_days = new ort.Tensor("float32", Float32Array.of(1), [1]);
  const { scores } = await session.run({ items, ages_days });
  await session.release();
  expect(scores!.data[0]).toBe(0);
  expect(scores!.data[1]).toBeCloseTo(Math.exp(-1), 6);
});
