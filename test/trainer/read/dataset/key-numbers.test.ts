import { expect, test } from "vitest";
import { areKeys } from "../../../../trainer/read/dataset/key-numbers.ts";

const column = (name: string, ...values: number[]) =>
  ({ name, type: "Numerical", values: Float64Array.from(values) }) as const;

test.each([
  ["brand_id", true],
  ["authorId", true],
  ["product_type_no", true],
  ["Colour Code", true],
  ["category", true],
  ["id_category_default", true],
  ["price", false],
  ["grid", false],
  ["release_year", false],
])("whole numbers of %s name categories: %s", (name, expected) =>
  expect(areKeys(column(name, 7, 7, Number.NaN, 8, 8), 2)).toBe(expected),
);

test("fractions, times and numbers that hardly repeat name none", () => {
  expect(areKeys(column("brand_id", 7, 7, 8.5, 8.5), 2)).toBe(false);
  expect(areKeys(column("brand_id", 7, 7, 8, 9), 2)).toBe(false);
  expect(areKeys({ ...column("brand_id", 7, 7), type: "Timestamp" }, 2)).toBe(false);
});
