import { expect, test } from "vitest";
import { warmUpGraph } from "../../../edge/versions/warm-up-graph.ts";
import type { ItemIndex } from "../../../shared/ids.ts";
import { graphBuilder } from "../../../trainer/learn/numerics/onnx/graph.ts";
import { openScorer } from "../../../trainer/learn/scoring/onnx-scorer.ts";

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
  const scorer = await openScorer({ graph: warmUpGraph(), weights: [], truncation: "" }, 2);
  const scores = await scorer.score({ items: [1 as ItemIndex], agesDays: [1] });
  await scorer.close();
  expect(scores[0]).toBe(0);
  expect(scores[1]).toBeCloseTo(Math.exp(-1), 6);
});
