import fc from "fast-check";
import { expect, test } from "vitest";
import type { AttributeColumn } from "../../../../shared/attributes.ts";
import { packStrings, stringAt } from "../../../../shared/packed-strings.ts";
import type { Dataset } from "../../../../trainer/read/dataset/dataset.ts";
import { reorderItems } from "../../../../trainer/read/dataset/reorder-items.ts";

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
    { name: "place", type: "Location", lat: Float64Array.of(1, Number.NaN, 3, 4), lon: Float64Array.of(5, 0, 7, 8) },
    { name: "text", type: "Vector", width: 2, values: Float32Array.of(1, 2, Number.NaN, Number.NaN, 3, 4, 5, 6) },
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

test("interactions and attributes keep their items' ids under any order", () => {
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

/** The attributes of each item, by item id. */
function describe(of: Dataset): Record<string, unknown> {
  const valueAt = (column: AttributeColumn, item: number): unknown => {
    if (column.type === "Vector") return [...column.values.subarray(item * column.width, (item + 1) * column.width)];
    if ("values" in column) return column.values[item];
    if (column.type === "Location") return [column.lat[item], column.lon[item]];
    const codes = column.codes.subarray(column.start[item], column.start[item + 1]);
    return Array.from(codes, (code) => column.dictionary[code]);
  };
  return Object.fromEntries(
    Array.from({ length: itemCount }, (_, item) => [
      stringAt(of.itemIds, item),
      of.itemAttributes.map((column) => valueAt(column, item)),
    ]).sort(),
  );
}
