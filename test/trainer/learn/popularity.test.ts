import { expect, test } from "vitest";
import type { Method } from "../../../trainer/learn/model.ts";
import { popularity, popularityWithRecency } from "../../../trainer/learn/popularity.ts";
import { trainingData } from "../../fixtures/checkerboard.ts";
import { modelSuite } from "../../suites/model-suite.ts";

modelSuite(popularity as Method, { personal: false });

const data = trainingData(3, [
  [0, 1, 0],
  [1, 2],
]); // days 0, 1, 2 and 0, 1

test("without a half-life, positive interactions are counted", () => {
  expect([...popularityWithRecency(data, 0)]).toEqual([2, 2, 1]);
  const positive = Uint8Array.of(1, 0, 1, 1, 0);
  expect([...popularityWithRecency({ ...data, positive }, 0)]).toEqual([2, 1, 0]);
});

test("with a half-life of one day, each day of age halves an interaction: 1/4 + 1, 1/2 + 1/4, 1/2", () => {
  const counts = popularityWithRecency(data, 1);
  expect(counts[0]).toBeCloseTo(1.25, 12);
  expect(counts[1]).toBeCloseTo(0.75, 12);
  expect(counts[2]).toBeCloseTo(0.5, 12);
});
