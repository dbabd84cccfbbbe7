import { expect, test } from "vitest";
import type { ItemIndex } from "../../../../shared/ids.ts";
import { openScorer } from "../../../../trainer/learn/scoring/onnx-scorer.ts";
import { largestRow } from "../../../fixtures/largest-row.ts";

const exported = () => largestRow([1, 2, 3, 4, 5, 6]);

test("a graph with a file beside it scores histories", async () => {
  const scorer = await openScorer(exported(), 2);
  expect([...(await scorer.score({ items: [1 as ItemIndex], agesDays: [0] }))]).toEqual([3, 4]);
  expect([...(await scorer.score({ items: [2, 0] as ItemIndex[], agesDays: [1, 0] }))]).toEqual([5, 6]);
  await scorer.close();
});

test("scores of the wrong size are refused", async () => {
  const scorer = await openScorer(exported(), 3);
  await expect(scorer.score({ items: [1 as ItemIndex], agesDays: [0] })).rejects.toThrow("float32 [3]");
  await scorer.close();
});
