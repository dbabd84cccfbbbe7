import { expect, test } from "vitest";
import { block, place, transposed } from "../../../../../trainer/learn/numerics/linear-algebra/matrix.ts";

test("a block of a 3 × 4 matrix is copied, and placed elsewhere", () => {
  const whole = { rows: 3, columns: 4, values: Float32Array.from({ length: 12 }, (_, i) => i) };
  const part = block(whole, [1, 3], [2, 4]);
  expect([part.rows, part.columns, ...part.values]).toEqual([2, 2, 6, 7, 10, 11]);
  place(part, whole, 0, 1);
  expect([...whole.values]).toEqual([0, 6, 7, 3, 4, 10, 11, 7, 8, 9, 10, 11]);
});

test("transposing turns rows into columns, and twice gives the same matrix", () => {
  const values = Float32Array.of(1, 2, 3, 4, 5, 6); // two rows of three
  expect([...transposed(values, 3)]).toEqual([1, 4, 2, 5, 3, 6]);
  expect(transposed(transposed(values, 3), 2)).toEqual(values);
});
