import { expect, test } from "vitest";
import { addTo, clearRow, rowSum } from "../../../../trainer/learn/weights/row-sum.ts";

test("a row lists its touched columns once, and is 0 after clearing", () => {
  const row = rowSum(4);
  for (const [column, amount] of [
    [2, 1],
    [0, 0.5],
    [2, 3],
  ] as const)
    addTo(row, column, amount);
  expect([...row.values]).toEqual([0.5, 0, 4, 0]);
  expect([...row.touched.subarray(0, row.count)]).toEqual([2, 0]);
  clearRow(row);
  expect([row.count, ...row.values]).toEqual([0, 0, 0, 0, 0]);
});
