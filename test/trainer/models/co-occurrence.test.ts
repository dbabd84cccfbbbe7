import { expect, test } from "vitest";
import { denseCoOccurrence, userWeights } from "../../../trainer/models/co-occurrence.ts";
import { distinctItems, positiveHistories } from "../../../trainer/models/histories.ts";
import { trainingData } from "../../fixtures/checkerboard.ts";

const histories = distinctItems(positiveHistories(trainingData(3, [[0, 1], [1, 2, 0, 1], [2]])));

test("who has both: items 0 and 1 share two users, 0 and 2 one", async () => {
  expect([...(await denseCoOccurrence(histories, userWeights(histories, 0)))]).toEqual([2, 2, 1, 2, 2, 1, 1, 1, 2]);
});

test("a user of length n counts n^−1: 1/2, 1/3 and 1", async () => {
  const gram = await denseCoOccurrence(histories, userWeights(histories, 1));
  expect(gram[1]).toBeCloseTo(5 / 6, 6);
  expect(gram[8]).toBeCloseTo(4 / 3, 6);
});
