import { expect, test } from "vitest";
import { packStrings } from "../../../../shared/packed-strings.ts";
import type { Dataset } from "../../../../trainer/read/dataset/dataset.ts";
import { completeCatalog } from "../../../../trainer/read/pushdown/complete-catalog.ts";
import { itemIdsOf, rowsOf } from "../../../fixtures/rows-spec.ts";

/** A sample in which only b and z were touched, and x is known by its attributes. */
const sample: Dataset = {
  userCount: 1,
  itemCount: 3,
  userStart: Uint32Array.of(0, 3),
  items: Int32Array.of(1, 0, 1),
  times: Uint32Array.of(1, 2, 3),
  positive: Uint8Array.of(1, 1, 0),
  ratings: null,
  itemIds: packStrings(["z", "b", "x"]),
  userIds: packStrings(["u"]),
  itemIdType: "string",
  itemAttributes: [
    { name: "price", type: "Numerical", values: Float64Array.of(26, 2, 24) },
    { name: "sold", type: "Boolean", values: Uint8Array.of(1, 0, 1) },
    {
      name: "kind",
      type: "Category",
      dictionary: ["k", "l"],
      start: Uint32Array.of(0, 1, 1, 2),
      codes: Uint32Array.of(0, 1),
    },
  ],
  userAttributes: [],
};
const counts = {
  itemIds: packStrings(["a", "b", "c", "z", "é"]),
  interactions: Float64Array.of(9, 5, 6, 5, 0),
  positives: Float64Array.of(2, 5, 2, 3, 0),
};

test("items stand by falling count of all users, equal ones by their negatives and id, and untouched ones last", () => {
  const whole = completeCatalog(sample, counts);
  expect(itemIdsOf(whole)).toEqual(["b", "z", "a", "c", "é", "x"]);
  expect(whole.itemCount).toBe(6);
});

test("interactions keep their items, and attributes go with theirs: others have none", () => {
  const whole = completeCatalog(sample, counts);
  expect(rowsOf(whole)).toEqual(["u b 1 1", "u z 2 1", "u b 3 0"]);
  const [price, sold, kind] = whole.itemAttributes as unknown as [
    { values: Float64Array },
    { values: Uint8Array },
    { start: Uint32Array; codes: Uint32Array },
  ];
  expect([...price.values]).toEqual([2, 26, Number.NaN, Number.NaN, Number.NaN, 24]);
  expect([...sold.values]).toEqual([0, 1, 255, 255, 255, 1]);
  expect([[...kind.start], [...kind.codes]]).toEqual([
    [0, 0, 1, 1, 1, 1, 2],
    [0, 1],
  ]);
});

test("a catalog that the sample knows whole is only reordered", () => {
  const ids = {
    itemIds: packStrings(["b", "x", "z"]),
    interactions: Float64Array.of(1, 3, 2),
    positives: new Float64Array(3),
  };
  expect(itemIdsOf(completeCatalog(sample, ids))).toEqual(["x", "z", "b"]);
});
