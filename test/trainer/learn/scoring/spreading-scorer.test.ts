import { expect, test } from "vitest";
import type { ItemIndex } from "../../../../shared/ids.ts";
import { openScorer } from "../../../../trainer/learn/scoring/onnx-scorer.ts";
import { openScorerThreads } from "../../../../trainer/learn/scoring/scorer-threads.ts";
import { openSpreadingScorer } from "../../../../trainer/learn/scoring/spreading-scorer.ts";
import { largestRow } from "../../../fixtures/largest-row.ts";

const task = { exported: largestRow([1, 2, 3, 4, 5, 6]), itemCount: 2 };
const historyOf = (item: number) => ({ items: [item as ItemIndex], agesDays: [0] });
const requests = Array.from({ length: 300 }, (_, i) => i % 3);

test("each history gets its own scores, whichever thread computes them", async () => {
  const alone = await openScorer(task.exported, 2);
  const expected: number[][] = [];
  for (const item of requests) expected.push([...(await alone.score(historyOf(item)))]);
  await alone.close();
  for (const scorer of [
    openScorerThreads(task, 3),
    await openSpreadingScorer(task, requests.length, { threadsMax: 2, worthMs: 0 }), // from the 33rd on
    await openSpreadingScorer(task, requests.length, { threadsMax: 2, worthMs: 0, memoryMb: 50 }),
  ]) {
    const answers: number[][] = [];
    let next = 0;
    const lane = async () => {
      for (let i = next++; i < requests.length; i = next++)
        answers[i] = [...(await scorer.score(historyOf(requests[i]!)))];
    };
    await Promise.all([lane(), lane(), lane(), lane()]);
    expect(answers).toEqual(expected);
    await scorer.close();
  }
});

test("histories that the threads cannot score are scored on the main thread", async () => {
  let failed = 0;
  const score = () => {
    failed++;
    return Promise.reject(new Error("no memory for a session"));
  };
  const openThreads = () => ({ score, close: () => Promise.resolve() });
  const scorer = await openSpreadingScorer(task, requests.length, { threadsMax: 2, worthMs: 0, openThreads });
  for (const item of requests) expect([...(await scorer.score(historyOf(item)))]).toEqual([2 * item + 1, 2 * item + 2]);
  expect(failed).toBeGreaterThan(200);
  await scorer.close();
});
