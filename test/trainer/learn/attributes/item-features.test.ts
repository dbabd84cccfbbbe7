import { expect, test } from "vitest";
import { describedItems, itemFeatures } from "../../../../trainer/learn/attributes/item-features.ts";
import type { AttributeColumn } from "../../../../trainer/read/dataset/dataset.ts";

const category = (
  dictionary: string[],
  lists: number[][],
  type: "Category" | "CategoryList" | "Text",
): AttributeColumn => ({
  name: "c",
  type,
  dictionary,
  start: Uint32Array.from([0, ...lists.map((_, i) => lists.slice(0, i + 1).flat().length)]),
  codes: Uint32Array.from(lists.flat()),
});
const rowsOf = (columns: readonly AttributeColumn[], itemCount: number) => {
  const { start, columns: features, values } = itemFeatures(columns, itemCount);
  return Array.from({ length: itemCount }, (_, item) => ({
    features: [...features.subarray(start[item]!, start[item + 1]!)],
    length: Math.hypot(...values.subarray(start[item]!, start[item + 1]!)),
  }));
};

test("items that share a category share a feature; categories of one item or of all items are no features", () => {
  const rows = rowsOf([category(["a", "b", "every"], [[0, 2], [0, 2], [1, 2], [2]], "CategoryList")], 4);
  expect(rows.map(({ features }) => features)).toEqual([[0], [0], [], []]);
  expect(rows[0]!.length).toBeCloseTo(1, 6);
});

test("texts share words regardless of case", () => {
  const rows = rowsOf([category(["Red shoe", "red HAT", "blue hat"], [[0], [1], [2]], "Text")], 3);
  expect(rows[0]!.features.filter((f) => rows[1]!.features.includes(f))).toHaveLength(1);
  expect(rows[1]!.features).toHaveLength(2);
});

test("numbers share their quantile, booleans their value; missing values have no feature", () => {
  const numbers = { name: "n", type: "Numerical", values: Float64Array.of(1, 1, 9, 9, Number.NaN) } as const;
  const flags = { name: "b", type: "Boolean", values: Uint8Array.of(1, 255, 255, 255, 1) } as const;
  const rows = rowsOf([numbers, flags], 5).map(({ features }) => features);
  expect(rows[2]).toEqual(rows[3]);
  expect(rows[0]!.filter((f) => rows[1]!.includes(f))).toHaveLength(1);
  expect(rows[4]).toHaveLength(1);
  expect(rows[0]).toContain(rows[4]![0]);
});

test("an item is described if another item shares a feature; the answer is cached by columns and item count", () => {
  const columns = [category(["a", "b"], [[0], [0], [1], []], "Category")];
  const { isDescribed, featureCount } = describedItems(columns, 4);
  expect([...isDescribed, featureCount]).toEqual([1, 1, 0, 0, 1]);
  expect(describedItems(columns, 4).isDescribed).toBe(isDescribed);
  expect([...describedItems(columns, 3).isDescribed]).toEqual([1, 1, 0]);
});
