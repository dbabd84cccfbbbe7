import { expect, test } from "vitest";
import { monthCost, rankCost } from "./cost-of-ranks.ts";

const PRICES = {
  perMillionRequests: 1,
  perMillionCpuMs: 10,
  perMillionReads: 100,
  perMillionWrites: 1000,
  perGigabyteMonth: 10_000,
};

test("a million ranks cost their requests, their CPU time and their reads", () => {
  expect(rankCost({ cpuMs: 0, reads: 0 }, PRICES)).toBe(1);
  expect(rankCost({ cpuMs: 2.5, reads: 2 }, PRICES)).toBe(1 + 25 + 200);
});

test("a month costs what is stored, written and read", () => {
  const nothing = { storedBytes: 0, writes: 0, reads: 0 };
  expect(monthCost(nothing, PRICES)).toBe(0);
  expect(monthCost({ ...nothing, storedBytes: 2e9 }, PRICES)).toBe(20_000);
  expect(monthCost({ ...nothing, writes: 5e5 }, PRICES)).toBe(500);
  expect(monthCost({ ...nothing, reads: 1e5 }, PRICES)).toBe(10);
});
