import { expect, test } from "vitest";
import { addTo, bucketOf, type Counts, percentilesOf } from "../../../edge/live/counts.ts";

const of = (latencies: readonly number[]) => {
  const counts: Counts = {};
  for (const ms of latencies) addTo(counts, String(bucketOf(ms)));
  return percentilesOf(counts);
};

test("a percentile is at most 42 % above the exact one, and never below it", () => {
  const latencies = Array.from({ length: 1000 }, (_, i) => Math.floor(1.01 ** i)).map((ms) => ms % 30_000);
  const sorted = latencies.toSorted((a, b) => a - b);
  const found = of(latencies)!;
  for (const [name, share] of [
    ["p50", 0.5],
    ["p95", 0.95],
    ["p99", 0.99],
  ] as const) {
    const exact = sorted[Math.ceil(share * sorted.length) - 1]!;
    expect(found[name]).toBeGreaterThanOrEqual(exact);
    expect(found[name]).toBeLessThanOrEqual(1.42 * exact);
  }
});
test("lists that waited for nothing are at 0 ms, and without lists there is no percentile", () => {
  expect(of([0, 0, 0])).toEqual({ p50: 0, p95: 0, p99: 0 });
  expect(of([0, 1])).toEqual({ p50: 0, p95: 1, p99: 1 });
  expect(of([])).toBeNull();
});
test("further names are counted together, and a latency has a bucket of its own however long it is", () => {
  const counts: Counts = {};
  for (let name = 0; name < 60; name++) addTo(counts, `type-${name}`, 2);
  expect(counts["*"]).toBe(20);
  addTo(counts, "type-3");
  expect(counts["type-3"]).toBe(3);
  expect(new Set(Array.from({ length: 40_000 }, (_, ms) => bucketOf(ms))).size).toBeLessThan(50);
});
