import { expect, test } from "vitest";
import type { ItemIndex } from "../../../../shared/ids.ts";
import { cast } from "../../../../trainer/learn/numerics/onnx/graph-shorthand.ts";
import { openScorer } from "../../../../trainer/learn/scoring/onnx-scorer.ts";
import { exportScores, fileBox } from "../../../../trainer/learn/scoring/scoring-graph.ts";

test("a part becomes a graph of its own: items declared, files named by their prefix, budget passed on", async () => {
  const exported = exportScores("sum", 2, (graph, items, budget) => {
    expect([budget.weightBytesMax, budget.prefix]).toEqual([99, ""]);
    const box = fileBox(graph, `${budget.prefix}x_`);
    const base = box.external("base", "float32", [2], Float32Array.of(1, 2));
    const largest = graph.op("ReduceMax", [cast(graph, items, "float32")], { keepdims: { int: 0 } });
    return { scores: graph.op("Add", [base, largest]), weights: box.files, truncation: "none" };
  })({ weightBytesMax: 99 });
  expect([exported.weights[0]!.path, exported.truncation]).toEqual(["x_base.bin", "none"]);
  const scorer = await openScorer(exported, 2);
  expect([...(await scorer.score({ items: [5, 3] as ItemIndex[], agesDays: [1, 0] }))]).toEqual([6, 7]);
  await scorer.close();
});
