import { expect, test } from "vitest";
import { earningsOf, presentPeriod, reportedPeriod } from "../../../shared/experiment/earnings.ts";

const DAY_MS = 86_400_000;
const START_MS = Date.UTC(2026, 0, 1);
const HOLDOUT = { salt: "s", started_at: new Date(START_MS).toISOString() };
const arm = (name: string) => ({ name, buckets: [], version: null, scenario: null, strategy: null });
const ARMS = { arms: [arm("holdout"), arm("model")] };

test("users count by periods of four weeks, and the last whole one is reported", () => {
  const at = (days: number) => START_MS + days * DAY_MS;
  const salts = (days: number) => [presentPeriod(HOLDOUT, at(days)).salt, reportedPeriod(HOLDOUT, at(days)).salt];
  expect(salts(-1)).toEqual(["s-0", "s-0"]); // a clock behind that of the trainer
  expect(salts(0)).toEqual(["s-0", "s-0"]);
  expect(salts(27.9)).toEqual(["s-0", "s-0"]);
  expect(salts(28)).toEqual(["s-1", "s-0"]);
  expect(salts(60)).toEqual(["s-2", "s-1"]);
  expect(reportedPeriod(HOLDOUT, at(60))).toMatchObject({ fromMs: at(28), endsMs: at(56) });
});

test("the number is the lift of the model over the holdout, and users of 1000", () => {
  const count = (arm: string, exposed: number, reached: number) => ({
    ...{ arm, exposed, reached, revision: 0, from: START_MS, guarded: 0 },
  });
  const period = presentPeriod(HOLDOUT, START_MS);
  const counts = [count("holdout", 1500, 150), count("holdout", 500, 50), count("model", 8000, 1200)];
  const earnings = earningsOf(ARMS, period, counts);
  expect(earnings.holdout).toEqual({ exposed: 2000, reached: 200, rate: 0.1 });
  expect(earnings.lift!.value).toBeCloseTo(0.5);
  expect(earnings.lift!.low).toBeGreaterThan(0.15);
  expect(earnings.lift!.low).toBeLessThan(0.5);
  expect(earnings.more_per_1000_users).toBeCloseTo(50);
  expect(earningsOf(ARMS, period, [count("holdout", 10, 1)])).toMatchObject({ lift: null, more_per_1000_users: null });
});
