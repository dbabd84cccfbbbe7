import fc from "fast-check";
import { expect, test } from "vitest";
import { packStrings, stringAt } from "../../../../shared/packed-strings.ts";
import type { Dataset } from "../../../../trainer/read/dataset/dataset.ts";
import { byFallingScore, countPerItem, reorderItems } from "../../../../trainer/read/dataset/reorder-items.ts";

const itemCount = 4;
const dataset: Dataset = {
  userCount: 2,
  itemCount,
  userStart: Uint32Array.of(0, 3, 5),
  items: Int32Array.of(2, 0, 2, 3, 2),
  times: Uint32Array.of(1, 2, 3, 4, 5),
  positive: Uint8Array.of(1, 1, 0, 0, 1),
  ratings: null,
  itemIds: packStrings(["a", "bb", "ccc", "ü"]),
  userIds: packStrings(["u", "v"]),
  itemIdType: "string",
  itemAttributes: [
    { name: "price", type: "Numerical", values: Float64Array.of(10, 11, Number.NaN, 13) },
    { name: "new", type: "Boolean", values: Uint8Array.of(0, 1, 255, 1) },
    {
      name: "tags",
      type: "CategoryList",
      dictionary: ["x", "y"],
      start: Uint32Array.of(0, 2, 2, 3, 3),
      codes: Uint32Array.of(0, 1, 1),
    },
  ],
  userAttributes: [],
};

test("positives count, any other interaction counts less than one positive, nothing counts nothing", () => {
  const counts = countPerItem(dataset);
  expect([...byFallingScore(counts)]).toEqual([2, 0, 3, 1]); // 2 has two positives, 0 one, 3 a negative, 1 nothing
  expect(counts[1]).toBe(0);
  expect(counts[3]).toBeLessThan(1);
});

test("items with as many positives and negatives have the same count, in whatever order their rows stand", () => {
  const half = (item: number, isPositive: (row: number) => boolean) =>
    Array.from({ length: 601 }, (_, row) => ({ item, isPositive: isPositive(row) }));
  const rows = [...half(0, (row) => row < 301), ...half(1, (row) => row >= 300), ...half(2, (row) => row % 2 === 0)];
  const items = Int32Array.from(rows, ({ item }) => item);
  const positive = Uint8Array.from(rows, ({ isPositive }) => Number(isPositive));
  const [first, second, third] = countPerItem({ ...dataset, items, positive });
  expect([second, third]).toEqual([first, first]);
});

test("equal scores keep their order", () => {
  expect([...byFallingScore([1, 3, 1, 3, 1])]).toEqual([1, 3, 0, 2, 4]);
  expect([...byFallingScore([])]).toEqual([]);
});

test("under any order, each interaction and attribute is still of the same item id", () => {
  const order = fc.shuffledSubarray([0, 1, 2, 3], { minLength: 4 }).map((indices) => Int32Array.from(indices));
  fc.assert(
    fc.property(order, (permutation) => {
      const other = reorderItems(dataset, permutation);
      const id = (of: Dataset, item: number) => stringAt(of.itemIds, item);
      expect(Array.from(other.items, (item) => id(other, item))).toEqual(
        Array.from(dataset.items, (item) => id(dataset, item)),
      );
      for (let to = 0; to < itemCount; to++) expect(id(other, to)).toBe(id(dataset, permutation[to]!));
      expect(describe(other)).toEqual(describe(dataset));
      expect(other.userIds).toBe(dataset.userIds);
    }),
  );
});

/** Each item's attributes by its id. */
function describe(of: Dataset): Record<string, unknown> {
  return Object.fromEntries(
    Array.from({ length: itemCount }, (_, item) => [
      stringAt(of.itemIds, item),
      of.itemAttributes.map((column) =>
        "values" in column
          ? column.values[item]
          : Array.from(
              column.codes.subarray(column.start[item], column.start[item + 1]),
              (code) => column.dictionary[code],
            ),
      ),
    ]).sort(),
  );
}
