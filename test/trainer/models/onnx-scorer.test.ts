import { expect, test } from "vitest";
import type { ItemIndex } from "../../../shared/ids.ts";
import { openScorer } from "../../../trainer/models/onnx-scorer.ts";
import { graphBuilder } from "../../../trainer/onnx/graph.ts";

/** Scores that are the row of a 3 × 2 table at the newest item, in a file beside the graph. */
function exported() {
  const graph = graphBuilder("row");
  const items = graph.input("items", "int32", ["L"]);
  const rows = graph.op("Gather", [graph.external("rows.bin", "float32", [3, 2]), items], { axis: { int: 0 } });
  const axes = graph.constant({ type: "int64", dims: [1], data: BigInt64Array.of(0n) });
  graph.output("scores", graph.op("ReduceMax", [rows, axes], { keepdims: { int: 0 } }), "float32", [2]);
  const bytes = new Uint8Array(Float32Array.of(1, 2, 3, 4, 5, 6).buffer);
  return { graph: graph.build(), weights: [{ path: "rows.bin", bytes }], truncation: "" };
}

test("a graph with a file beside it answers; an input that it does not declare is not fed", async () => {
  const scorer = await openScorer(exported(), 2);
  expect([...(await scorer.score({ items: [1 as ItemIndex], agesDays: [0] }))]).toEqual([3, 4]);
  expect([...(await scorer.score({ items: [2, 0] as ItemIndex[], agesDays: [1, 0] }))]).toEqual([5, 6]);
  await scorer.close();
});

test("scores of another size are refused", async () => {
  const scorer = await openScorer(exported(), 3);
  await expect(scorer.score({ items: [1 as ItemIndex], agesDays: [0] })).rejects.toThrow("float32 [3]");
  await scorer.close();
});
