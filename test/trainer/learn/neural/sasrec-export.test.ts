import { expect, test } from "vitest";
import type { ItemIndex } from "../../../../shared/ids.ts";
import { averagesOf } from "../../../../trainer/learn/neural/averages.ts";
import { appendSasrec } from "../../../../trainer/learn/neural/sasrec-export.ts";
import { freshParameters } from "../../../../trainer/learn/neural/sasrec-parameters.ts";
import { openScorer } from "../../../../trainer/learn/scoring/onnx-scorer.ts";
import { exportScores } from "../../../../trainer/learn/scoring/scoring-graph.ts";
import { fitContext } from "../../../fixtures/fit-context.ts";
import { sasrecScores } from "../../../fixtures/reference-networks.ts";

const SHAPE = { itemCount: 40, length: 9, width: 16, blocks: 2, heads: 2 };
const { random } = fitContext(4);
const fresh = freshParameters(SHAPE, random);
for (const { value } of fresh.values()) for (let i = 0; i < value.length; i++) value[i] = value[i]! + random() / 4;
const parameters = averagesOf(fresh);

test.each([
  ["float32", 1e6, 1e-5],
  ["int8", 1000, 0.05],
])("exported as %s, histories get the scores of the plain loops", async (_, weightBytesMax, tolerance) => {
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

const TINY = { itemCount: 3, length: 4, width: 2, blocks: 0, heads: 1 };

test("scores by hand: without blocks, the normalised vector of the newest item times every item's vector", () => {
  const parameters = averagesOf(freshParameters(TINY, fitContext().random));
  parameters.get("item_table")!.value.set([1, 0, 0, 1, 3, 1]);
  // (3, 1)·√2 has mean 2√2 and deviation √2, so it becomes (1, −1), up to ε.
  const scores = sasrecScores(TINY, parameters, [0, 2]);
  expect(scores[0]).toBeCloseTo(1, 4);
  expect(scores[1]).toBeCloseTo(-1, 4);
  expect(scores[2]).toBeCloseTo(2, 4);
});

test("earlier entries and their order matter", () => {
  const shape = { ...TINY, itemCount: 6, width: 4, blocks: 1 };
  const { random } = fitContext(2);
  const fresh = freshParameters(shape, random);
  for (const { value } of fresh.values()) for (let i = 0; i < value.length; i++) value[i] = value[i]! + random() - 0.5;
  const parameters = averagesOf(fresh);
  const scores = sasrecScores(shape, parameters, [1, 2, 3]);
  expect(sasrecScores(shape, parameters, [2, 1, 3])).not.toEqual(scores);
  expect(sasrecScores(shape, parameters, [3])).not.toEqual(scores);
});
