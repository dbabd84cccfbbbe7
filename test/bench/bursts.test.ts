import { expect, test } from "vitest";
import { burstsOf } from "./bursts.ts";

test("moments that follow each other closely are one burst, however long it gets", () => {
  expect(burstsOf([5, 100, 150, 200, 251], 50)).toEqual([
    { fromMs: 5, toMs: 5, count: 1 },
    { fromMs: 100, toMs: 200, count: 3 },
    { fromMs: 251, toMs: 251, count: 1 },
  ]);
  expect(burstsOf([], 50)).toEqual([]);
});
