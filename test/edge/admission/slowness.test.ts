import { expect, test } from "vitest";
import { createSlowness, type Slowness } from "../../../edge/admission/slowness.ts";

/** Calls begin every 10 ms, each after so many times its estimated wait. */
function wait(slowness: Slowness, times: number, { fromMs, untilMs }: { fromMs: number; untilMs: number }): number {
  for (let nowMs = fromMs; nowMs <= untilMs; nowMs += 10) slowness.add(times, nowMs);
  return slowness.at(untilMs);
}

test("longer waits are believed after a few tenths of a second and forgotten seconds after the last", () => {
  const slowness = createSlowness();
  expect(slowness.at(0)).toBe(1);
  expect(wait(slowness, 3, { fromMs: 10, untilMs: 50 })).toBeLessThan(1.3);
  expect(wait(slowness, 3, { fromMs: 60, untilMs: 1500 })).toBeGreaterThan(2.4);
  expect(slowness.at(2500)).toBeCloseTo(1.77, 1);
  expect(slowness.at(10_000)).toBeCloseTo(1, 1);
  expect(wait(slowness, 50, { fromMs: 20_000, untilMs: 25_000 })).toBeLessThanOrEqual(4);
});

test("shorter waits are believed after seconds of them, half the estimate at the least, and not forgotten", () => {
  const slowness = createSlowness();
  expect(wait(slowness, 0.5, { fromMs: 10, untilMs: 300 })).toBeGreaterThan(0.95);
  const usual = wait(slowness, 0.7, { fromMs: 310, untilMs: 40_000 });
  expect(usual).toBeCloseTo(0.7, 1);
  expect(slowness.at(600_000)).toBeCloseTo(usual, 5);
  expect(wait(slowness, 0.1, { fromMs: 600_000, untilMs: 660_000 })).toBeCloseTo(0.5, 2);
});

test("where waits are usually short, longer ones are believed as soon as elsewhere", () => {
  const slowness = createSlowness();
  wait(slowness, 0.5, { fromMs: 10, untilMs: 60_000 });
  expect(wait(slowness, 3, { fromMs: 60_010, untilMs: 61_500 })).toBeGreaterThan(2.3);
});

test("a clock that steps back says nothing", () => {
  const slowness = createSlowness();
  wait(slowness, 3, { fromMs: 10_000, untilMs: 12_000 });
  slowness.add(1, 0);
  expect(slowness.at(0)).toBeGreaterThan(2.4);
  expect(Number.isFinite(slowness.at(1e9))).toBe(true);
});
