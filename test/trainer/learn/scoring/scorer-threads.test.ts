import { expect, test } from "vitest";
import type { ItemIndex } from "../../../../shared/ids.ts";
import { openScorer } from "../../../../trainer/learn/scoring/onnx-scorer.ts";
import {
  openScorerThreads,
  openSpreadingScorer,
  threadsWithin,
} from "../../../../trainer/learn/scoring/scorer-threads.ts";
import { largestRow } from "../../../fixtures/largest-row.ts";

const exported = largestRow([1, 2, 3, 4, 5, 6]);
const historyOf = (item: number) => ({ items: [item as ItemIndex], agesDays: [0] });
const history = historyOf(1);

test("an error for one history rejects only that request", async () => {
  const scorer = openScorerThreads({ exported, itemCount: 2 }, 1);
  const outside = scorer.score(historyOf(7));
  await expect(outside).rejects.toThrow("Gather");
  expect([...(await scorer.score(history))]).toEqual([3, 4]);
  await scorer.close();
});
test("an invalid graph rejects every request", async () => {
  const scorer = openScorerThreads({ exported: { ...exported, graph: Uint8Array.of(1) }, itemCount: 2 }, 2);
  for (let i = 0; i < 3; i++) await expect(scorer.score(history)).rejects.toThrow();
  await scorer.close();
});
test("open requests are rejected when the scorer is closed, and so are later ones", async () => {
  const scorer = openScorerThreads({ exported, itemCount: 2 }, 1);
  const waiting = expect(scorer.score(history)).rejects.toThrow("has ended");
  await scorer.close();
  await waiting;
  await expect(scorer.score(history)).rejects.toThrow("has ended");
});
test("threads that are closed while they work do not end the process", async () => {
  for (let round = 0; round < 30; round++) {
    const scorer = openScorerThreads({ exported, itemCount: 2 }, 2);
    const scores = Array.from({ length: 20 }, () => scorer.score(history).catch(() => undefined));
    if (round % 3 > 0) await scores[0];
    await scorer.close();
    await Promise.all(scores);
  }
});

test("each history gets its own scores, whichever thread computes them", async () => {
  const requests = Array.from({ length: 100 }, (_, i) => i % 3);
  const alone = await openScorer(exported, 2);
  const expected = await Promise.all(requests.map((item) => alone.score(historyOf(item))));
  await alone.close();
  const task = { exported, itemCount: 2 };
  for (const scorer of [
    openScorerThreads(task, 3),
    await openSpreadingScorer(task, 2), // worth starting threads
    await openSpreadingScorer(task, 0.5),
    await openSpreadingScorer(task, 2, 50), // memory for one thread
  ]) {
    expect(await Promise.all(requests.map((item) => scorer.score(historyOf(item))))).toEqual(expected);
    await scorer.close();
  }
});

test("each thread needs 40 MB and 1.5 times the weights; the weights themselves count once", () => {
  const large = { ...exported, weights: [{ path: "w", bytes: new Uint8Array(20e6) }] };
  expect([19, 89, 90, 159, 160].map((memoryMb) => threadsWithin(memoryMb, large))).toEqual([0, 0, 1, 1, 2]);
  expect(threadsWithin(Number.POSITIVE_INFINITY, large)).toBe(Number.POSITIVE_INFINITY);
});
