import { expect, test } from "vitest";
import type { ItemIndex } from "../../../../shared/ids.ts";
import { averagesOf } from "../../../../trainer/learn/neural/averages.ts";
import { appendPooled } from "../../../../trainer/learn/neural/pooled-export.ts";
import { freshPooledParameters } from "../../../../trainer/learn/neural/pooled-graph.ts";
import { openScorer } from "../../../../trainer/learn/scoring/onnx-scorer.ts";
import { exportScores } from "../../../../trainer/learn/scoring/scoring-graph.ts";
import { fitContext } from "../../../fixtures/fit-context.ts";
import { pooledScores } from "../../../fixtures/reference-networks.ts";

test("scores by hand: two items at right angles", () => {
  const shape = { itemCount: 2, width: 2, length: 3, ordered: false };
  const parameters = averagesOf(freshPooledParameters(shape, fitContext().random));
  parameters.get("item_table")!.value.set([2, 0, 0, 3]);
  expect([...pooledScores(shape, parameters, [1])]).toEqual([0, 1]);
  // 2·(1, 0) + 3·(0, 1), of length √13.
  const both = pooledScores(shape, parameters, [0, 1]);
  expect(both[0]).toBeCloseTo(2 / Math.sqrt(13), 6);
  expect(both[1]).toBeCloseTo(3 / Math.sqrt(13), 6);
});

test.each([
  ["float32", true, 1e6, 1e-5],
  ["float32", false, 1e6, 1e-5],
  ["bytes", true, 1200, 0.05],
])(
  "exported as %s (ordered: %s), histories get the scores of the plain loops",
  async (_, ordered, weightBytesMax, tolerance) => {
    const shape = { itemCount: 40, width: 16, length: 9, ordered };
    const { random } = fitContext(4);
    const fresh = freshPooledParameters(shape, random);
    for (const { value } of fresh.values()) for (let i = 0; i < value.length; i++) value[i] = value[i]! + random() / 4;
    const parameters = averagesOf(fresh);
    const exported = exportScores("pooled", shape.itemCount, (graph, items, budget) =>
      appendPooled(graph, items, { shape, parameters }, budget),
    )({ weightBytesMax });
    expect(exported.weights.reduce((sum, { bytes }) => sum + bytes.length, 0)).toBeLessThanOrEqual(weightBytesMax);
    const scorer = await openScorer(exported, shape.itemCount);
    for (const length of [1, 2, 9]) {
      const items = Array.from({ length }, (_, i) => ((i * 7 + 3) % shape.itemCount) as ItemIndex);
      const expected = pooledScores(shape, parameters, items);
      const scores = await scorer.score({ items, agesDays: items.map(() => 0) });
      const largest = Math.max(...expected.map(Math.abs));
      for (const [item, score] of expected.entries()) {
        expect(Math.abs(scores[item]! - score) / largest).toBeLessThan(tolerance);
      }
    }
    await scorer.close();
  },
);
