import { expect, test } from "vitest";
import { lentScores } from "../../edge/lent-scores.ts";
import type { Snapshot } from "../../shared/snapshot.ts";

test("scores are there until they are given back, and take no memory then", async () => {
  const own = { version: "v", score: async () => Float32Array.of(1, 2) } as unknown as Snapshot;
  const { snapshot, giveBack } = lentScores(own);
  const history = { items: [], agesDays: [] };
  const all = [await snapshot.score(history), await snapshot.score(history)];
  expect([snapshot.version, ...all.map((scores) => [...scores])]).toEqual(["v", [1, 2], [1, 2]]);
  giveBack();
  expect(all.map(({ length }) => length)).toEqual([0, 0]);
  giveBack();
});
