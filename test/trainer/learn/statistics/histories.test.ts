import { expect, test } from "vitest";
import {
  distinctItems,
  hasNegatives,
  occurrencesOf,
  positiveHistories,
  timesChosen,
  wholeHistories,
} from "../../../../trainer/learn/statistics/histories.ts";
import { trainingData } from "../../../fixtures/checkerboard.ts";

const data = trainingData(4, [[3, 1, 3, 0], [], [2]]);

test("only positives, and of them the newest, oldest first", () => {
  const positive = Uint8Array.of(1, 1, 0, 1, 1);
  expect([...positiveHistories({ ...data, positive }).items]).toEqual([3, 1, 0, 2]);
  const newest = positiveHistories({ ...data, positive }, 2);
  expect([[...newest.start], [...newest.items]]).toEqual([
    [0, 2, 2, 3],
    [1, 0, 2],
  ]);
});

test("how often each item was chosen: each time counts, negatives do not", () => {
  expect([...timesChosen(data)]).toEqual([1, 1, 1, 2]);
  expect([...timesChosen({ ...data, positive: Uint8Array.of(1, 1, 0, 1, 1) })]).toEqual([1, 1, 1, 1]);
});

test("distinct items ascend", () => {
  const distinct = distinctItems(positiveHistories(data));
  expect([[...distinct.start], [...distinct.items]]).toEqual([
    [0, 3, 3, 4],
    [0, 1, 3, 2],
  ]);
});

test("occurrences say for each item who has it and where", () => {
  const { start, users, positions } = occurrencesOf(positiveHistories(data));
  expect([...start]).toEqual([0, 1, 2, 3, 5]);
  expect([...users]).toEqual([0, 0, 2, 0, 0]);
  expect([...positions]).toEqual([3, 1, 4, 0, 2]);
});

test("whole histories have the negatives too", () => {
  const labelled = { ...data, positive: Uint8Array.of(1, 0, 0, 1, 1) };
  expect([...wholeHistories(labelled, 3).items]).toEqual([1, 3, 0, 2]);
  expect([hasNegatives(labelled), hasNegatives(data)]).toEqual([true, false]);
});
