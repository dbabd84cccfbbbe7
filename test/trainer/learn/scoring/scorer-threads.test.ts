import { expect, test } from "vitest";
import type { ItemIndex } from "../../../../shared/ids.ts";
import { openScorerThreads, threadsWithin } from "../../../../trainer/learn/scoring/scorer-threads.ts";
import { largestRow } from "../../../fixtures/largest-row.ts";

const exported = largestRow([1, 2, 3, 4, 5, 6]);
const history = { items: [1 as ItemIndex], agesDays: [0] };

test("what one history is refused for is its answer's error, and others are answered", async () => {
  const scorer = openScorerThreads({ exported, itemCount: 2 }, 1);
  const beyond = scorer.score({ items: [7 as ItemIndex], agesDays: [0] });
  await expect(beyond).rejects.toThrow("Gather");
  expect([...(await scorer.score(history))]).toEqual([3, 4]);
  await scorer.close();
});
test("a graph that is none is every answer's error", async () => {
  const scorer = openScorerThreads({ exported: { ...exported, graph: Uint8Array.of(1) }, itemCount: 2 }, 2);
  for (let i = 0; i < 3; i++) await expect(scorer.score(history)).rejects.toThrow();
  await scorer.close();
});
test("who still waits when it is closed is told, and who asks later", async () => {
  const scorer = openScorerThreads({ exported, itemCount: 2 }, 1);
  const waiting = expect(scorer.score(history)).rejects.toThrow("has ended");
  await scorer.close();
  await waiting;
  await expect(scorer.score(history)).rejects.toThrow("has ended");
});

test("threads are as many as memory is enough for: 40 MB each and half as much again as the weights, which are there once", () => {
  const large = { ...exported, weights: [{ path: "w", bytes: new Uint8Array(20e6) }] };
  expect([19, 89, 90, 159, 160].map((memoryMb) => threadsWithin(memoryMb, large))).toEqual([0, 0, 1, 1, 2]);
  expect(threadsWithin(Number.POSITIVE_INFINITY, large)).toBe(Number.POSITIVE_INFINITY);
});
