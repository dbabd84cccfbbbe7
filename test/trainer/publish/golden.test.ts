import { expect, test } from "vitest";
import type { ItemIndex } from "../../../shared/ids.ts";
import type { History } from "../../../shared/snapshot.ts";
import { goldenHistories, goldenScores } from "../../../trainer/publish/golden.ts";
import { trainingData } from "../../fixtures/checkerboard.ts";

const scorerOf = (score: (history: History) => Float32Array) => ({
  score: async (history: History) => score(history),
  close: async () => {},
});

test("one item alone, then the shortest, a middling and the longest history", () => {
  const data = trainingData(9, [[0, 1, 2, 3, 4], [5], [6, 7, 8]]);
  const histories = goldenHistories(data, 100).map((history) => history.items);
  expect(histories).toEqual([[5], [5], [6, 7, 8], [0, 1, 2, 3, 4]]);
});

test("ages count from the newest interaction, in days, as float32 has them", () => {
  const data = { ...trainingData(3, [[0, 1, 2]]), times: Uint32Array.of(1000, 1000 + 43_200, 1000 + 90_000) };
  const [single, whole] = goldenHistories(data, 100);
  expect(whole!.agesDays).toEqual([Math.fround(90_000 / 86_400), Math.fround(46_800 / 86_400), 0]);
  expect(single!.agesDays).toEqual([whole!.agesDays[0]]);
});

test("only what the model takes is kept, the newest of it; negatives are no history", () => {
  const data = trainingData(9, [[0, 1, 2, 3, 4]]);
  expect(goldenHistories(data, 2)[1]!.items).toEqual([3, 4]);
  const negative = { ...data, positive: Uint8Array.of(1, 0, 1, 0, 0) };
  expect(goldenHistories(negative, 9)[1]!.items).toEqual([0, 2]);
});

test.each([0, 1, 2])("%i users are enough", (count) => {
  const histories = goldenHistories(trainingData(2, [[0], [1]].slice(0, count)), 10);
  expect(histories.length).toBeGreaterThan(0);
  expect(histories.length).toBeLessThanOrEqual(4);
});

test("of a very large catalog, where each run is dear, only the first and the longest", () => {
  const histories = goldenHistories(trainingData(200_001, [[0, 1, 2, 3, 4], [5], [6, 7, 8]]), 100);
  expect(histories.map(({ items }) => items)).toEqual([[5], [0, 1, 2, 3, 4]]);
});

test("a catalog of nothing has nothing to check", () => {
  expect(goldenHistories(trainingData(0, []), 10)).toEqual([]);
});

test("the best ten and some of the rest are kept, each once, with the score as it is", async () => {
  const scores = Float32Array.from({ length: 200 }, (_, item) => Math.sin(item));
  const history = { items: [3 as ItemIndex], agesDays: [0.5] };
  const [golden] = await goldenScores(
    scorerOf(() => scores),
    [history],
  );
  expect(golden).toMatchObject({ items: [3], ages_days: [0.5] });
  const best = [...scores.keys()].sort((a, b) => scores[b]! - scores[a]!).slice(0, 10);
  expect(golden!.scores.slice(0, 10).map(([item]) => item)).toEqual(best);
  expect(golden!.scores.length).toBeGreaterThan(25);
  expect(new Set(golden!.scores.map(([item]) => item)).size).toBe(golden!.scores.length);
  for (const [item, score] of golden!.scores) expect(score).toBe(scores[item]);
});

test("a catalog smaller than the lists is named once over", async () => {
  const [golden] = await goldenScores(
    scorerOf(() => Float32Array.of(1, 2)),
    [{ items: [0 as ItemIndex], agesDays: [0] }],
  );
  expect(golden!.scores).toEqual([
    [1, 2],
    [0, 1],
  ]);
});
