import { expect, test } from "vitest";
import type { ItemIndex } from "../../../../shared/ids.ts";
import { averagesOf } from "../../../../trainer/learn/neural/averages.ts";
import { sasrecScores } from "../../../../trainer/learn/neural/forward.ts";
import { appendSasrec } from "../../../../trainer/learn/neural/sasrec-export.ts";
import { freshParameters } from "../../../../trainer/learn/neural/sasrec-parameters.ts";
import { openScorer } from "../../../../trainer/learn/scoring/onnx-scorer.ts";
import { exportScores } from "../../../../trainer/learn/scoring/scoring-graph.ts";
import { fitContext } from "../../../fixtures/fit-context.ts";

const SHAPE = { itemCount: 40, length: 9, width: 16, blocks: 2, heads: 2 };
const { random } = fitContext(4);
const fresh = freshParameters(SHAPE, random);
for (const { value } of fresh.values()) for (let i = 0; i < value.length; i++) value[i] = value[i]! + random() / 4;
const parameters = averagesOf(fresh);

test.each([
  ["float32", 1e6, 1e-5],
  ["int8", 1000, 0.05],
])("exported as %s, one entry or as many as fit score as in plain loops", async (_, weightBytesMax, tolerance) => {
  const exported = exportScores("sasrec", SHAPE.itemCount, (graph, items, budget) =>
    appendSasrec(graph, items, { shape: SHAPE, parameters }, budget),
  )({ weightBytesMax });
  const scorer = await openScorer(exported, SHAPE.itemCount);
  for (const length of [1, 2, 9, 14]) {
    const items = Array.from({ length }, (_, i) => ((i * 7 + 3) % SHAPE.itemCount) as ItemIndex);
    const expected = sasrecScores(SHAPE, parameters, items.slice(-SHAPE.length));
    const scores = await scorer.score({ items, agesDays: items.map(() => 0) });
    const largest = Math.max(...expected.map(Math.abs));
    for (const [item, score] of expected.entries()) {
      expect(Math.abs(scores[item]! - score) / largest).toBeLessThan(tolerance);
    }
  }
  await scorer.close();
});
