import { expect, test } from "vitest";
import type { UserId } from "../../../../shared/ids.ts";
import { rank } from "../../../../shared/rank.ts";
import type { History } from "../../../../shared/snapshot.ts";
import { casesOfSplit } from "../../../../trainer/choose/evaluate/evaluation-cases.ts";
import { offlineSnapshot } from "../../../../trainer/choose/evaluate/offline-snapshot.ts";
import { trainingData } from "../../../fixtures/checkerboard.ts";

/** User 0 knows items 0 and 1, user 1 knows nothing; both choose item 4 later. Scores fall from 4 to 0, or are equal. */
const cases = casesOfSplit(trainingData(5, [[0, 1], []]), trainingData(5, [[4], [4]]), {
  instantSeconds: 1_700_172_800,
});
const scored: History[] = [];
const scorer = {
  score: async (history: History) => {
    scored.push(history);
    return Float32Array.of(0, 1, 2, 3, 4);
  },
  close: async () => {},
};
const listFor = async (user: number, historyMax = 10, excludeSeen = true) => {
  const request = { userId: String(user) as UserId, limit: 9, session: [], filter: undefined, excludeSeen };
  return (await rank({ ...request, nowSeconds: 1_700_172_800 }, offlineSnapshot(cases, scorer, { historyMax }))).items;
};

test("what the user has seen is left out", async () => expect(await listFor(0)).toEqual([4, 3, 2]));
test("unless seen items are wanted", async () => expect(await listFor(0, 10, false)).toEqual([4, 3, 2, 1, 0]));
test("a new user gets the catalog in its order, without a call of the model", async () => {
  scored.length = 0;
  expect(await listFor(1)).toEqual([0, 1, 2, 3, 4]);
  expect(scored).toEqual([]);
});
test("the model is given its newest items with their ages in days", async () => {
  scored.length = 0;
  await listFor(0, 1);
  expect(scored).toEqual([{ items: [1], agesDays: [1] }]);
});
test("a new user whose values are known is ranked for by them, any other as before", async () => {
  const values = {
    score: (codes: readonly number[]) => Float32Array.of(0, 0, codes[0]!, 0, 1),
    codesOf: (user: number) => (user === 1 ? [7] : [9]),
  };
  const snapshot = offlineSnapshot(cases, scorer, { historyMax: 10, values });
  const listOf = async (user: number) => {
    const request = { userId: String(user) as UserId, limit: 9, session: [], filter: undefined, excludeSeen: true };
    return (await rank({ ...request, nowSeconds: 1_700_172_800 }, snapshot)).items;
  };
  expect([await listOf(1), await listOf(0)]).toEqual([
    [2, 4, 0, 1, 3],
    [4, 3, 2],
  ]);
});
test("filters have no meaning here", () =>
  expect(() => offlineSnapshot(cases, scorer, { historyMax: 1 }).compileFilter({ kind: "and", of: [] })).toThrow(
    "does not filter",
  ));
