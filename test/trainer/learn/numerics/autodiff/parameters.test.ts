import { expect, test } from "vitest";
import { addRowGradient, clearGradient, parameter } from "../../../../../trainer/learn/numerics/autodiff/parameters.ts";

test("repeated rows add up, and a lazy table lists each touched row once", () => {
  const table = parameter([4, 2], () => 0, { lazy: true });
  addRowGradient(table, Int32Array.of(3, 1, 3), Float32Array.of(1, 2, 10, 20, 100, 200));
  expect([...table.gradient]).toEqual([0, 0, 10, 20, 0, 0, 101, 202]);
  expect([...table.touched!.rows.subarray(0, table.touched!.count)]).toEqual([3, 1]);

  clearGradient(table);
  expect(table.gradient.every((slope) => slope === 0)).toBe(true);
  expect(table.touched!.count).toBe(0);
  addRowGradient(table, Int32Array.of(1), Float32Array.of(5, 6));
  expect(table.touched!.count).toBe(1);
});

test("a parameter is filled by position", () => {
  expect([...parameter([2, 2], (i) => i).value]).toEqual([0, 1, 2, 3]);
  expect(parameter([2, 3, 4], () => 0).rowSize).toBe(12);
});
