import { expect, test } from "vitest";
import { compared, quantile, timesMs } from "./bench.ts";
import { figuresTable } from "./figures-table.ts";

test("columns are aligned, and what has no reference shows none", () => {
  const table = figuresTable([compared("edge.rank.p50", "ms", 3, 1.5), { name: "peak", value: 123456, unit: "MB" }]);
  expect(table.split("\n")).toEqual([
    "figure           value  unit  reference  ratio",
    "edge.rank.p50        3  ms          1.5    2 ×",
    "peak           123,500  MB",
  ]);
});

test("the median and the tail of few samples", () => {
  expect(quantile([5], 0.5)).toBe(5);
  expect(quantile([3, 1, 2], 0.5)).toBe(2);
  expect(quantile([1, 2, 3, 4], 0.99)).toBe(4);
});

test("each run is timed on its own", async () => {
  const seen: number[] = [];
  expect(await timesMs(3, async (i) => seen.push(i))).toHaveLength(3);
  expect(seen).toEqual([0, 1, 2]);
});
