import { expect, test } from "vitest";
import { denseUse, monthCost, rankCost, sparseUse } from "./cost-of-ranks.ts";

const PRICES = {
  perMillionRequests: 1,
  perMillionCpuMs: 10,
  perMillionReads: 100,
  perMillionWrites: 1000,
  perMillionLogLines: 5,
  perGigabyteMonth: 10_000,
};

test("a million ranks cost their requests, CPU time, reads and log lines", () => {
  expect(rankCost({ cpuMs: 0, reads: 0, logLines: 0 }, PRICES)).toBe(1);
  expect(rankCost({ cpuMs: 2.5, reads: 2, logLines: 0.1 }, PRICES)).toBe(1 + 25 + 200 + 0.5);
});

const USE = {
  warm: { cpuMs: 2, reads: 1, logLines: 0.1 },
  newIsolate: { cpuMs: 50, reads: 3, logLines: 0.1 },
  emptyCache: { cpuMs: 74, reads: 27, logLines: 0.1 },
  pages: 1000,
};
test("in dense traffic, every isolate refreshes what changes, and each page is read once a day", () => {
  const { reads, ...rest } = denseUse(USE, { calls: 1e6, isolates: 2 }, { key: 20, pointer: 4 });
  expect(rest).toEqual({ cpuMs: 2, logLines: 0.1 });
  expect(reads).toBeCloseTo((2 * (86_400 / 20 + 2 * (86_400 / 4)) + 1000 + 27) / 1e6);
});
test("in sparse traffic, every call needs a new isolate, and one of 24 an empty cache", () =>
  expect(sparseUse(USE)).toEqual({ cpuMs: 51, reads: 4, logLines: 0.1 }));

test("a month costs what is stored, written and read", () => {
  const nothing = { storedBytes: 0, writes: 0, reads: 0 };
  expect(monthCost(nothing, PRICES)).toBe(0);
  expect(monthCost({ ...nothing, storedBytes: 2e9 }, PRICES)).toBe(20_000);
  expect(monthCost({ ...nothing, writes: 5e5 }, PRICES)).toBe(500);
  expect(monthCost({ ...nothing, reads: 1e5 }, PRICES)).toBe(10);
});
