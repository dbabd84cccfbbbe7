import { expect, test } from "vitest";
import { predictedSeconds } from "../../../../trainer/manage/dry-run/predict-training.ts";

const seconds = (rows: number, fitSecondsMax = 900, connectorType = "File") =>
  predictedSeconds({ rows, connectorType, fitSecondsMax });

test("more data take longer, and a slower store takes longer still", () => {
  expect(seconds(0)).toBe(5);
  expect(seconds(1e5)).toBeGreaterThan(seconds(1e4));
  expect(seconds(1e6, 900, "BigQuery")).toBeGreaterThan(seconds(1e6));
});

test("an unknown store counts as the slowest one", () =>
  expect(seconds(1e6, 900, "Parchment")).toBe(seconds(1e6, 900, "Postgres")));

test("fitting takes at most the operator's limit", () => {
  expect(seconds(1e7, 60) - seconds(1e7, 30)).toBe(50);
  expect(seconds(1e8)).toBeLessThan(2400);
});
