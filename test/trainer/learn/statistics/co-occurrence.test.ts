import { expect, test } from "vitest";
import {
  addCoOccurrences,
  coOccurrence,
  itemWeights,
  pairsOf,
} from "../../../../trainer/learn/statistics/co-occurrence.ts";
import { distinctItems, positiveHistories } from "../../../../trainer/learn/statistics/histories.ts";
import { rowSum } from "../../../../trainer/learn/weights/row-sum.ts";
import { trainingData } from "../../../fixtures/checkerboard.ts";

const histories = distinctItems(positiveHistories(trainingData(3, [[0, 1], [1, 2, 0, 1], [2]])));

function rowOf(item: number, exponent: number, part: "lower" | "whole"): number[] {
  const row = rowSum(3);
  addCoOccurrences(coOccurrence(histories, exponent), item, row, part);
  return [...row.values];
}

test("users who have both items are counted: two for 0 and 1, one for 0 and 2; a repeat counts once", () => {
  expect([0, 1, 2].map((item) => rowOf(item, 0, "whole"))).toEqual([
    [2, 2, 1],
    [2, 2, 1],
    [1, 1, 2],
  ]);
  expect([0, 1, 2].map((item) => rowOf(item, 0, "lower"))).toEqual([
    [2, 0, 0],
    [2, 2, 0],
    [1, 1, 2],
  ]);
});

test("with exponent 1, users with 2, 3 and 1 items count 1/2, 1/3 and 1", () => {
  expect(rowOf(0, 1, "whole")[1]).toBeCloseTo(5 / 6, 12);
  expect(itemWeights(coOccurrence(histories, 1))[2]).toBeCloseTo(4 / 3, 12);
});

test.each([0, 0.5])("a user without items counts 0, with exponent %d", (exponent) => {
  const some = distinctItems(positiveHistories(trainingData(3, [[], [1], []])));
  expect([...coOccurrence(some, exponent).weights]).toEqual([0, 1, 0]);
});

test("the pairs of a history are the square of its bounded length", () => {
  expect(pairsOf(trainingData(9, [[0, 1, 2], [], [3], [4, 5, 6, 7, 8]]), 4)).toBe(9 + 0 + 1 + 16);
});
