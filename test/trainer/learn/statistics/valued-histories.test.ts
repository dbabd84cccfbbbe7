import { expect, test } from "vitest";
import { localSetRidge } from "../../../../trainer/learn/local-set-ridge.ts";
import type { TrainingData } from "../../../../trainer/learn/model.ts";
import { addCoOccurrences, coOccurrence, itemWeights } from "../../../../trainer/learn/statistics/co-occurrence.ts";
import { learnedSets, type ValueParams, withValues } from "../../../../trainer/learn/statistics/valued-histories.ts";
import { rowSum } from "../../../../trainer/learn/weights/row-sum.ts";
import { trainingData } from "../../../fixtures/checkerboard.ts";
import { fitContext } from "../../../fixtures/fit-context.ts";
import { referenceScores } from "../../../fixtures/reference-scores.ts";

const data = {
  ...trainingData(4, [
    [2, 0, 1],
    [0, 3, 0],
  ]),
  positive: Uint8Array.of(1, 0, 1, 1, 0, 0),
  ratings: Float32Array.of(5, 1, 4, 5, 0, 2),
};

test("an item counts as its best rating, relative to the largest of all; a rating of 0 does not count", () => {
  const { start, items, values } = learnedSets(data, { ratings: 1 }, 100);
  expect([...start]).toEqual([0, 3, 4]);
  expect([...items]).toEqual([0, 1, 2, 0]);
  for (const [i, rating] of [0.2, 0.8, 1, 1].entries()) expect(values![i]).toBeCloseTo(rating, 6);
});

test("a rating that vanishes next to the largest keeps a small value: an entry of value 0 would leak sums into the next row", () => {
  const extreme = { ...data, ratings: Float32Array.of(3e38, 1e-10, 1e-10, 2e38, 1, 1e-30) };
  const { items, values } = learnedSets(extreme, { ratings: 1 }, 100);
  expect([...items]).toEqual([0, 1, 2, 0, 3]);
  expect(values!.every((value) => value > 0 && value <= 30)).toBe(true);
});

test("one extreme weight does not make the others vanish", () => {
  const usual = Array.from({ length: 99 }, (_, i) => 1 + (i % 10));
  const users = trainingData(
    100,
    Array.from({ length: 100 }, (_, i) => [i]),
  );
  const { values } = learnedSets({ ...users, ratings: Float32Array.of(...usual, 1e6) }, { ratings: 1 }, 100);
  expect([values![0], values![99]]).toEqual([expect.closeTo(0.1, 6), 30]);
});

const played = trainingData(3, [
  [0, 1, 0],
  [2, 2],
]);

test("repeats add up where the settings say so, and count by their power", () => {
  const sets = learnedSets(played, { ratings: 0.5, repeats: 1 }, 100);
  expect([...sets.items]).toEqual([0, 1, 2]);
  for (const [i, count] of [2, 1, 2].entries()) expect(sets.values![i]).toBeCloseTo((count / 2) ** 0.5, 6);
});

test("events count as the settings weigh their types", () => {
  const events = { ...played, ratings: Float32Array.of(1, 2, 1, 0, 2), eventTypes: ["view", "purchase"] };
  const sets = learnedSets(events, { ratings: 1, "type:purchase": 3 }, 100);
  expect([...sets.items]).toEqual([0, 1, 2]);
  const [view, bought, last] = sets.values!;
  expect(bought! / view!).toBeCloseTo(3, 5);
  expect(last).toBe(bought);
});

test("the grid changes the weight of each type that is not the most common one and has enough events", () => {
  const rows = Array.from({ length: 500 }, (_, i) => [i]);
  const many = {
    ...trainingData(500, rows),
    ratings: Float32Array.from(rows, (_, i) => (i < 3 ? 3 : i < 200 ? 2 : 1)),
  };
  const grid = withValues<ValueParams>({ ...many, eventTypes: ["view", "purchase", "gift"] }, [{}]);
  expect(grid).toEqual([{}, ...[3, 0.3, 10].map((weight) => ({ ratings: 1, "type:purchase": weight }))]);
});

test("the grid counts repeats only where the data have them, and damps weights of very different sizes", () => {
  const extra = (data: TrainingData) => withValues<ValueParams>(data, [{}]);
  expect(extra(played)).toEqual([{}, { ratings: 0.25, repeats: 1 }]);
  expect(extra(trainingData(3, [[0, 1, 2]]))).toEqual([{}]);
  const minutes = (...ratings: number[]) => ({
    ...trainingData(4, [[0, 1, 2, 3]]),
    ratings: Float32Array.from(ratings),
  });
  expect(extra(minutes(2, 3, 4, 5))).toEqual([{ ratings: 1 }, {}]);
  expect(extra(minutes(1, 1, 90, 100))).toEqual([{ ratings: 1 }, {}, { ratings: 0.5 }]);
});

test("without ratings in the settings, every positive item counts the same", () => {
  const { items, values } = learnedSets(data, {}, 100);
  expect([...items, values]).toEqual([1, 2, 0, undefined]);
});

test("the newest interactions are used, including low ratings", () => {
  expect([...learnedSets(data, { ratings: 1 }, 2).items]).toEqual([0, 1, 0]);
});

test("a pair of entries counts the product of their values", () => {
  const counts = coOccurrence(learnedSets(data, { ratings: 1 }, 100), 0);
  const row = rowSum(4);
  addCoOccurrences(counts, 0, row, "whole");
  for (const [item, sum] of [0.2 * 0.2 + 1, 0.2 * 0.8, 0.2, 0].entries()) expect(row.values[item]).toBeCloseTo(sum, 6);
  expect(itemWeights(counts)[0]).toBeCloseTo(1.04, 6);
  expect(itemWeights(counts, 1)[0]).toBeCloseTo(1.2, 6);
});

test("the first setting learns from ratings if, and only if, the data have some", () => {
  const grid = localSetRidge.grid(data);
  const plain = localSetRidge.grid(trainingData(2, [[0, 1]]));
  expect(grid.slice(0, 2)).toEqual([{ ...plain[0], ratings: 1 }, plain[0]]);
  expect(grid.slice(2).every(({ ratings }) => ratings === 1)).toBe(true);
  expect(plain.some(({ ratings }) => ratings !== undefined)).toBe(false);
  const alike = { ...trainingData(2, [[0, 1]]), ratings: Float32Array.of(3, 3) };
  expect(withValues(alike, [{ ratings: 0 }])).toEqual([{ ratings: 0 }]);
});

test("an item rated low recommends its neighbours less than an item rated high", async () => {
  const likes = Array.from({ length: 20 }, () => [0, 1]);
  const both = trainingData(3, [...likes, ...likes.map(() => [2, 1])]);
  const ratings = Float32Array.from({ length: both.items.length }, (_, i) => (i >= 40 && i % 2 === 0 ? 1 : 5));
  const params = { lambda: 3, userExponent: 0, penaltyExponent: 0, recentScale: 0, neighbours: 10, ratings: 1 };
  const model = await localSetRidge.fit({ ...both, ratings }, params, fitContext());
  const scoreOf1 = (item: number) => referenceScores(model, { items: [item as never], agesDays: [0] })[1]!;
  expect(scoreOf1(2)).toBeLessThan(0.5 * scoreOf1(0));
});
