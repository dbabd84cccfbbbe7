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
  start: startsOf(lists.map(({ length }) => length)),
  codes: Uint32Array.from(lists.flat()),
});
function startsOf(lengths: readonly number[]): Uint32Array {
  const start = new Uint32Array(lengths.length + 1);
  for (const [i, length] of lengths.entries()) start[i + 1] = start[i]! + length;
  return start;
}

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

const common = (rows: ReturnType<typeof rowsOf>, a: number, b: number) =>
  rows[a]!.features.filter((f) => rows[b]!.features.includes(f)).length;

test("texts share words and pieces of words regardless of case", () => {
  const rows = rowsOf([category(["Red", "RED", "redder", "hat"], [[0], [1], [2], [3]], "Text")], 4);
  // "red", "^re" and "ed$"; then "red" and "^re".
  expect(common(rows, 0, 1)).toBe(3);
  expect(common(rows, 0, 2)).toBe(2);
  expect(rows[3]!.features).toEqual([]);
});

test("all attributes of an item weigh the same, however many words one of them has", () => {
  const titles = ["red wool hat", "red wool hat", "blue silk tie", ""].map((text, i) => [i, text] as const);
  const title = category(
    titles.map(([, text]) => text),
    titles.map(([i, text]) => (text ? [i] : [])),
    "Text",
  );
  const aisle = category(["hats", "ties"], [[0], [0], [1], [0]], "Category");
  const { start, columns, values } = itemFeatures([title, aisle], 4);
  const partOf = (item: number, isTitle: boolean) =>
    Math.hypot(
      ...values
        .subarray(start[item]!, start[item + 1]!)
        .filter((_, i) => (columns[start[item]! + i] !== 0) === isTitle),
    );
  expect(partOf(0, true)).toBeCloseTo(Math.SQRT1_2, 6);
  expect(partOf(0, false)).toBeCloseTo(Math.SQRT1_2, 6);
  expect(partOf(3, false)).toBeCloseTo(1, 6);
});

test("a picture as a data address has no words", () => {
  const pictures = ["data:image/svg+xml,%3Csvg red", "data:image/svg+xml,%3Csvg red hat", "red data", "red hat"];
  const rows = rowsOf([category(pictures, [[0], [1], [2], [3]], "Text")], 4);
  expect(rows.slice(0, 2).map(({ features }) => features)).toEqual([[], []]);
  expect(common(rows, 2, 3)).toBeGreaterThan(0);
});

test("features beyond the 3,000 most frequent ones share 1,000 columns, where their weights add up", () => {
  const dictionary = Array.from({ length: 4001 }, (_, i) => `value ${i}`);
  const last = [0, 3000, 4000];
  const alone = dictionary.map((_, i) => [i]);
  // Every value has two items, so that the rank of a value is its place in the dictionary.
  const lists = [...alone, ...alone.filter(([i]) => !last.includes(i!)), last];
  const { columnCount, columns, values } = itemFeatures([category(dictionary, lists, "CategoryList")], lists.length);
  expect(columnCount).toBe(4000);
  expect([...columns.subarray(-2)]).toEqual([0, 3000]);
  expect(values.at(-1)! / values.at(-2)!).toBeCloseTo(2, 6);
  const uses = new Uint32Array(4000);
  for (const column of columns) uses[column]!++;
  expect([uses[2999], uses[3000], uses[3001], uses[3999]]).toEqual([2, 3, 2, 2]);
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

test.each([
  ["brand_id", true],
  ["price", false],
])("of whole numbers of %s, each is a feature: %s", (name, isKey) => {
  const values = Float64Array.from({ length: 64 }, (_, item) => item >> 1); // 32 numbers of two items each
  const rows = rowsOf([{ name, type: "Numerical", values }], 64);
  expect(common(rows, 0, 1)).toBe(1);
  expect(common(rows, 1, 2)).toBe(isKey ? 0 : 1);
});
