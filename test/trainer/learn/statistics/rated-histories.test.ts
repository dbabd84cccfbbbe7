import { expect, test } from "vitest";
import { localSetRidge } from "../../../../trainer/learn/local-set-ridge.ts";
import { addCoOccurrences, coOccurrence, itemWeights } from "../../../../trainer/learn/statistics/co-occurrence.ts";
import { taughtSets, withRatings } from "../../../../trainer/learn/statistics/rated-histories.ts";
import { rowSum } from "../../../../trainer/learn/weights/row-sum.ts";
import { trainingData } from "../../../fixtures/checkerboard.ts";
import { fitContext } from "../../../fixtures/fit-context.ts";

const data = {
  ...trainingData(4, [
    [2, 0, 1],
    [0, 3, 0],
  ]),
  positive: Uint8Array.of(1, 0, 1, 1, 0, 0),
  ratings: Float32Array.of(5, 1, 4, 5, 0, 2),
};

test("every rated item counts as its rating; of repeats the best; a rating of 0 teaches nothing", () => {
  const { start, items, values } = taughtSets(data, { ratings: 1 }, 100);
  expect([...start]).toEqual([0, 3, 4]);
  expect([...items]).toEqual([0, 1, 2, 0]);
  for (const [i, rating] of [0.2, 0.8, 1, 1].entries()) expect(values![i]).toBeCloseTo(rating, 6);
});

test("a rating that is nothing beside the largest teaches nothing: what counts 0 would leave sums of one row in the next", () => {
  const extreme = { ...data, ratings: Float32Array.of(3e38, 1e-10, 1e-10, 2e38, 1, 1e-30) };
  const { start, items, values } = taughtSets(extreme, { ratings: 1 }, 100);
  expect([[...start], [...items]]).toEqual([
    [0, 1, 3],
    [2, 0, 3],
  ]);
  expect(values!.every((value) => value > 0)).toBe(true);
});

test("without ratings in the settings the positive items count alike", () => {
  const { items, values } = taughtSets(data, {}, 100);
  expect([...items, values]).toEqual([1, 2, 0, undefined]);
});

test("the newest interactions are taught, low ratings among them", () => {
  expect([...taughtSets(data, { ratings: 1 }, 2).items]).toEqual([0, 1, 0]);
});

test("two entries that meet count the product of what they are worth", () => {
  const counts = coOccurrence(taughtSets(data, { ratings: 1 }, 100), 0);
  const row = rowSum(4);
  addCoOccurrences(counts, 0, row, "whole");
  for (const [item, sum] of [0.2 * 0.2 + 1, 0.2 * 0.8, 0.2, 0].entries()) expect(row.values[item]).toBeCloseTo(sum, 6);
  expect(itemWeights(counts)[0]).toBeCloseTo(1.04, 6);
  expect(itemWeights(counts, 1)[0]).toBeCloseTo(1.2, 6);
});

test("ratings are the first guess where there are any, and only there", () => {
  const grid = localSetRidge.grid(data);
  const plain = localSetRidge.grid(trainingData(2, [[0, 1]]));
  expect(grid.slice(0, 2)).toEqual([{ ...plain[0], ratings: 1 }, plain[0]]);
  expect(grid).toHaveLength(plain.length + 1);
  expect(plain.some(({ ratings }) => ratings !== undefined)).toBe(false);
  const alike = { ...trainingData(2, [[0, 1]]), ratings: Float32Array.of(3, 3) };
  expect(withRatings(alike, [{ ratings: 0 }])).toEqual([{ ratings: 0 }]);
});

test("what was rated low beside an item recommends it less than what was rated high", async () => {
  const likes = Array.from({ length: 20 }, () => [0, 1]);
  const both = trainingData(3, [...likes, ...likes.map(() => [2, 1])]);
  const ratings = Float32Array.from({ length: both.items.length }, (_, i) => (i >= 40 && i % 2 === 0 ? 1 : 5));
  const params = { lambda: 3, userExponent: 0, penaltyExponent: 0, recentScale: 0, neighbours: 10, ratings: 1 };
  const model = await localSetRidge.fit({ ...both, ratings }, params, fitContext());
  const scoreOf1 = (item: number) => model.score({ items: [item as never], agesDays: [0] })[1]!;
  expect(scoreOf1(2)).toBeLessThan(0.5 * scoreOf1(0));
});
