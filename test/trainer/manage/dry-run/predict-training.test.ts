import { expect, test } from "vitest";
import { predictedSeconds } from "../../../../trainer/manage/dry-run/predict-training.ts";

const seconds = (rows: number, fitSecondsMax = 900, connectorType = "File") =>
  predictedSeconds({ rows, connectorType, fitSecondsMax });

test("little data are done in seconds, more take longer, and a slower store longer still", () => {
  expect(seconds(0)).toBe(5);
  expect(seconds(1e5)).toBeGreaterThan(seconds(1e4));
  expect(seconds(1e6, 900, "BigQuery")).toBeGreaterThan(seconds(1e6));
});

test("a store that nobody has measured is taken for the slowest", () =>
  expect(seconds(1e6, 900, "Parchment")).toBe(seconds(1e6, 900, "Postgres")));

test("fitting takes what the operator allows, and no more", () => {
  expect(seconds(1e7, 60) - seconds(1e7, 30)).toBe(42);
  expect(seconds(1e8)).toBeLessThan(2400);
});
