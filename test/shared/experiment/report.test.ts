import { expect, test } from "vitest";
import { divide } from "../../../shared/experiment/buckets.ts";
import type { ExposureCount } from "../../../shared/experiment/counts.ts";
import { experimentReport, historyStepMs } from "../../../shared/experiment/report.ts";
import type { RunningExperiment } from "../../../shared/experiment/running.ts";

const DAY_MS = 86_400_000;
const START = 20_000;
const buckets = divide([0.5, 0.5], []);
const arm = (name: string, i: number) => ({
  name,
  buckets: buckets[i]!,
  version: null,
  scenario: null,
  strategy: null,
});
const running: RunningExperiment = {
  name: "first",
  salt: "s",
  started_at: new Date(START * DAY_MS).toISOString(),
  goal: { type: "purchase", within_hours: 24 },
  guard: { type: "return", within_hours: 24 },
  arms: [arm("a", 0), arm("b", 1)],
  revisions: [{ a: 0.5, b: 0.5 }],
};
const count = (arm: string, day: number, [exposed, reached, guarded]: number[], revision = 0): ExposureCount => ({
  ...{ arm, revision, from: (START + day) * DAY_MS },
  ...{ exposed: exposed!, reached: reached!, guarded: guarded! },
});
const reportOf = (counts: ExposureCount[], changes: Partial<RunningExperiment> = {}, days = 8) =>
  experimentReport({ ...running, ...changes }, counts, (START + days) * DAY_MS);

test("counts of several shards and days add up, and the history shows the sums so far", () => {
  const counts = [
    count("a", 0, [100, 10, 1]),
    count("a", 0, [50, 5, 0]),
    count("b", 0, [140, 14, 2]),
    count("a", 1, [100, 10, 1]),
    count("b", 1, [110, 11, 1]),
  ];
  const report = reportOf(counts);
  expect(report.arms.map(({ exposed, reached, guard_reached }) => [exposed, reached, guard_reached])).toEqual([
    [250, 25, 2],
    [250, 25, 3],
  ]);
  expect(report.history.map(({ until, arms }) => [until, ...arms.map(({ exposed }) => exposed)])).toEqual([
    ["2024-10-05T00:00:00.000Z", 150, 140],
    ["2024-10-06T00:00:00.000Z", 250, 250],
  ]);
  expect(report.arms[1]!.lift).toMatchObject({ value: 0 });
  expect(report.verdict).toBe("running");
  expect(report.days_to_detect_5_percent).toBeCloseTo((8 * report.users_to_detect_5_percent!) / 250, 1);
});
test("a clear lift is better, unless the guard is harmed", () => {
  const first = count("a", 0, [10_000, 1000, 500]);
  expect(reportOf([first, count("b", 0, [10_000, 1400, 500])]).verdict).toBe("better");
  expect(reportOf([first, count("b", 0, [10_000, 1400, 300])]).verdict).toBe("worse");
  expect(reportOf([first, count("b", 0, [10_000, 700, 500])]).verdict).toBe("worse");
});
test("users who are not divided as the shares say block every verdict", () => {
  const report = reportOf([count("a", 0, [10_000, 1000, 500]), count("b", 0, [9000, 1400, 500])]);
  expect([report.verdict, report.sample_ratio_mismatch, report.arms[1]!.verdict]).toEqual([
    "sample_ratio_mismatch",
    true,
    "running",
  ]);
});
test("changed shares are no mismatch, because each user counts by the shares that were in force", () => {
  const revisions = [
    { a: 0.9, b: 0.1 },
    { a: 0.5, b: 0.5 },
  ];
  const counts = [
    count("a", 0, [9000, 900, 0]),
    count("b", 0, [1000, 100, 0]),
    count("a", 1, [500, 50, 0], 1),
    count("b", 1, [500, 50, 0], 1),
  ];
  expect(reportOf(counts, { revisions }).sample_ratio_mismatch).toBe(false);
  expect(reportOf(counts).sample_ratio_mismatch).toBe(true);
});
test("without anybody there is nothing to say", () => {
  expect(reportOf([])).toMatchObject({ verdict: "running", history: [], users_to_detect_5_percent: null });
});
test("the periods of the history grow with the experiment's age, and the newest ends now", () => {
  const stepAfter = (ms: number) => historyStepMs(running, START * DAY_MS + ms);
  expect([0, 0.1, 0.2, 6, 8, 400].map((days) => stepAfter(days * DAY_MS) / 60_000)).toEqual([1, 1, 60, 60, 1440, 1440]);
  const minute = 1 / 1440;
  const counts = [0, 3, 9.5].map((minutes) => count("a", Math.floor(minutes) * minute, [10, 1, 0]));
  const { history, days_to_detect_5_percent } = reportOf(counts, {}, 9.5 * minute);
  expect(history.map(({ until }) => until.slice(11, 19))).toEqual(["00:01:00", "00:04:00", "00:09:30"]);
  expect(days_to_detect_5_percent).toBeNull();
});
