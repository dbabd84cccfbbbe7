import { expect, test } from "vitest";
import { stringAt } from "../../../../shared/packed-strings.ts";
import type { Dataset } from "../../../../trainer/read/dataset/dataset.ts";
import { reorderItems } from "../../../../trainer/read/dataset/reorder-items.ts";
import { readRows, specOf } from "../../../fixtures/rows-spec.ts";

const interactions = `SELECT 'u' || range % 7 AS u, 'i' || range % 5 AS i, ${1_700_000_000} + range AS t, 1 AS l FROM range(100)`;
const itemsOf = (...ids: string[]) => `SELECT unnest([${ids.map((id) => `'${id}'`).join(", ")}]) AS i, 1 AS price`;
const read = async (items: string | undefined, item: object = {}) => {
  const spec = specOf({ interactions, ...(items && { items }) });
  const { dataset, summary } = await readRows({
    ...spec,
    schema: { ...spec.schema, item: { ...spec.schema.item, ...item } },
  });
  return { dataset, warnings: summary.warnings.filter((warning) => warning.includes("in no list")) };
};
const withdrawnIn = ({ itemIds, withdrawn }: Dataset) =>
  [...(withdrawn ?? [])].flatMap((flag, item) => (flag ? [stringAt(itemIds, item)] : []));

test("items that the source lacks are withdrawn, with their number as a warning, and still teach", async () => {
  const { dataset, warnings } = await read(itemsOf("i0", "i1", "i2", "new"));
  expect(withdrawnIn(dataset)).toEqual(["i3", "i4"]);
  expect(dataset.items).toHaveLength(100);
  expect(warnings).toEqual([expect.stringContaining("2 of 6 items are in no list")]);
});

test("no item is withdrawn without a source, with all of its items, or where the schema keeps them", async () => {
  for (const { dataset, warnings } of [
    await read(undefined),
    await read(itemsOf("i0", "i1", "i2", "i3", "i4")),
    await read(itemsOf("i0"), { only_catalog_items: false }),
    await read(itemsOf("other", "ids")), // the wrong column
  ])
    expect([dataset.withdrawn, warnings]).toEqual([undefined, []]);
});

test("withdrawn items come last in every order of the catalog", async () => {
  const { dataset } = await read(itemsOf("i0", "i2", "i4"));
  const reordered = reorderItems(dataset, Int32Array.of(3, 1, 4, 0, 2));
  const ids = Array.from({ length: 5 }, (_, item) => stringAt(reordered.itemIds, item));
  expect(ids).toEqual(["i4", "i0", "i2", "i3", "i1"]);
  expect(reordered).toMatchObject({ listedCount: 3, withdrawn: Uint8Array.of(0, 0, 0, 1, 1) });
  // Interactions keep their items.
  const countOf = ({ items, itemIds }: Dataset, id: string) =>
    items.filter((item) => stringAt(itemIds, item) === id).length;
  for (const id of ids) expect(countOf(reordered, id)).toBe(countOf(dataset, id));
});
