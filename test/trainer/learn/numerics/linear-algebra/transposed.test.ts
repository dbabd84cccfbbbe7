import { expect, test } from "vitest";
import { transposed } from "../../../../../trainer/learn/numerics/linear-algebra/transposed.ts";

test("rows become columns, and again rows", () => {
  const values = Float32Array.of(1, 2, 3, 4, 5, 6); // two rows of three
  expect([...transposed(values, 3)]).toEqual([1, 4, 2, 5, 3, 6]);
  expect(transposed(transposed(values, 3), 2)).toEqual(values);
});
