import { expect, test } from "vitest";
import {
  dataForChoosing,
  dataForFit,
  fitSeconds,
  rowsForChoosing,
  secondsForFinalFit,
} from "../../../trainer/choose/budget.ts";
import type { Method } from "../../../trainer/learn/model.ts";
import { twoTastes } from "../../fixtures/two-tastes.ts";

const shop = twoTastes({ users: 8000, items: 40, perUser: 4 }); // 32,000 interactions
const method = {
  cost: ({ items }: { items: Int32Array }, { mb = 0, seconds = 0 }) => ({
    memoryMb: (mb * items.length) / 32_000,
    seconds: (seconds * items.length) / 32_000,
  }),
} as unknown as Method;
const usedFor = (params: Record<string, number>) =>
  dataForFit({ method, params }, shop, { memoryMbMax: 100, seed: 1, secondsHard: 60 });

test("few interactions are compared on as they are, and what they take is not left for a fit", () => {
  const { dataset, memoryMbMax, warning } = dataForChoosing(shop, { memoryMbMax: 100, secondsMax: 60, seed: 1 });
  expect(dataset).toBe(shop);
  expect(warning).toBeUndefined();
  expect(memoryMbMax).toBeCloseTo(100 - (4 * (32_000 * 9 + 32_000)) / 1e6, 6);
});
test("a dataset beyond the memory is represented by a sample of its users, with a warning", () => {
  const { dataset, warning } = dataForChoosing(shop, { memoryMbMax: 3.2, secondsMax: 60, seed: 1 });
  expect(dataset.items.length).toBeGreaterThan(14_000);
  expect(dataset.items.length).toBeLessThan(18_000);
  expect(warning).toContain(`${dataset.userCount} of 8000 users, with ${dataset.items.length} interactions`);
});
test("what is left for a fit is never below nothing", () =>
  expect(dataForChoosing(shop, { memoryMbMax: 0.1, secondsMax: 60, seed: 1 }).memoryMbMax).toBe(0));

test.each([
  ["memory", 4000, 7200, 20_000_000],
  ["time", 4000, 300, 9_000_000],
  ["nothing where they are few", 4000, 3, 1_000_000],
])("the interactions of a choice are bounded by %s", (_, memoryMbMax, secondsMax, rows) =>
  expect(rowsForChoosing({ memoryMbMax, secondsMax })).toBe(rows),
);

test("a fit within its budget learns from everybody", () => expect(usedFor({ mb: 90, seconds: 60 })).toBe(shop));
test.each([
  ["memory", { mb: 180 }, 2],
  ["time", { seconds: 200 }, 4],
])("a fit that needs too much %s learns from as many users as its budget allows", (_, params, part) => {
  const users = usedFor(params).userCount;
  expect(users).toBeGreaterThan((0.9 * 8000) / part);
  expect(users).toBeLessThan((1.1 * 8000) / part);
});
test("a fit on large data is planned for half of its timeout", () => {
  const large = twoTastes({ users: 300_000, items: 40, perUser: 4 });
  const budget = { memoryMbMax: 1e6, seed: 1, secondsHard: 60 };
  const shareOf = (seconds: number) =>
    dataForFit({ method, params: { seconds: (seconds * 32_000) / large.items.length } }, large, budget).userCount /
    300_000;
  expect(shareOf(29)).toBe(1);
  expect(shareOf(50)).toBeCloseTo(0.5, 1);
});
test("a fit learns from fewer users where the process holds more than planned", () => {
  const budget = { memoryMbMax: 100, memoryMbFree: () => 50, seed: 1, secondsHard: 60 };
  expect(dataForFit({ method, params: { mb: 90 } }, shop, budget).userCount).toBeLessThan(4400);
});
test("a fit that never fits is tried with few users", () => {
  const users = usedFor({ mb: 1e9 }).userCount;
  expect(users).toBeGreaterThan(300);
  expect(users).toBeLessThanOrEqual(1000);
});

test("the final fit has two thirds of the seconds, and what the choice left", () => {
  expect(secondsForFinalFit({ budget: 900, used: 590 })).toBe(910);
  expect(secondsForFinalFit({ budget: 900, used: 960 })).toBe(600);
});

const TWO_HOURS = 7200;

test.each([
  [0, TWO_HOURS, 900],
  [200_000, TWO_HOURS, 900],
  [1_000_000, TWO_HOURS, 4500],
  [50_000_000, TWO_HOURS, TWO_HOURS],
  [50_000_000, 60, 60],
  [10, 60, 60],
])("%i interactions, at most %i s: %i s", (interactions, secondsMax, seconds) => {
  expect(fitSeconds(interactions, secondsMax)).toBe(seconds);
});
