import fc from "fast-check";
import { expect, test } from "vitest";
import { attributesOf } from "../../../shared/attribute-values.ts";
import { type AttributeColumn, decodeAttributes, encodeAttributes } from "../../../shared/attributes.ts";
import { decodeCatalog, encodeCatalog } from "../../../shared/catalog.ts";
import { compileFilter } from "../../../shared/filter/compile-filter.ts";
import { parseFilter } from "../../../shared/filter/parse-filter.ts";
import type { ItemId, ItemIndex } from "../../../shared/ids.ts";
import { isHiddenIn, unchanged, withItemChanges } from "../../../shared/items/changed-catalog.ts";
import { type ChangedItem, decodeItemChanges, encodeItemChanges } from "../../../shared/items/changes-file.ts";
import { packStrings } from "../../../shared/packed-strings.ts";

type Row = { price: number | null; count: number | null; stock: boolean | null; colour: string | null; tags: string[] };

const idOf = (item: number) => `i${item}` as ItemId;
const catalogOf = (itemCount: number) =>
  decodeCatalog(
    encodeCatalog({ itemIds: packStrings(Array.from({ length: itemCount }, (_, i) => idOf(i))), itemIdType: "string" }),
  );

function textColumn(name: string, type: "Category" | "CategoryList", values: readonly (readonly string[])[]) {
  const dictionary = [...new Set(values.flat())];
  const start = new Uint32Array(values.length + 1);
  for (const [i, list] of values.entries()) start[i + 1] = start[i]! + list.length;
  const codes = Uint32Array.from(values.flat(), (text) => dictionary.indexOf(text));
  return { name, type, dictionary, start, codes } satisfies AttributeColumn;
}

/** The table of a version that was trained with these rows. */
function tableOf(rows: readonly Row[]) {
  const numbers = (of: (row: Row) => number | null) => Float64Array.from(rows, (row) => of(row) ?? Number.NaN);
  const columns: AttributeColumn[] = [
    { name: "price", type: "Numerical", values: numbers(({ price }) => price) },
    { name: "count", type: "Numerical", values: numbers(({ count }) => count) },
    { name: "stock", type: "Boolean", values: Uint8Array.from(rows, ({ stock }) => (stock === null ? 255 : +stock)) },
    textColumn(
      "colour",
      "Category",
      rows.map(({ colour }) => (colour === null ? [] : [colour])),
    ),
    textColumn(
      "tags",
      "CategoryList",
      rows.map(({ tags }) => tags),
    ),
  ];
  return decodeAttributes(encodeAttributes(columns, rows.length));
}

const changesOf = (items: readonly ChangedItem[]) => decodeItemChanges(encodeItemChanges(items, null));
const changed = (item: number, values: Partial<Row>, hidden = false): ChangedItem => ({
  id: idOf(item),
  hidden,
  values: Object.fromEntries(Object.entries(values).map(([name, value]) => [name, { value, at: 1 }])),
});

const text = fc.constantFrom("red", "blue", "a", "é", "zz", "");
const rowOf = {
  price: fc.option(
    fc.oneof(fc.integer({ min: 0, max: 300 }), fc.double({ min: -5, max: 5, noNaN: true }), fc.constant(1e9)),
  ),
  count: fc.option(fc.integer({ min: -3, max: 70_000 })),
  stock: fc.option(fc.boolean()),
  colour: fc.option(text),
  tags: fc.uniqueArray(text, { maxLength: 3 }),
};
const rows = fc.array(fc.record(rowOf), { minLength: 1, maxLength: 12 });
const edits = fc.array(
  fc.record({ item: fc.nat(14), hidden: fc.boolean(), values: fc.record(rowOf, { requiredKeys: [] }) }),
  { maxLength: 8 },
);
const latest = (given: readonly { item: number; hidden: boolean; values: Partial<Row> }[]) =>
  new Map(given.map((edit) => [edit.item, edit]));
const FILTERS = [
  { price: { $gt: 1 } },
  { price: { $lte: 2.5 } },
  { price: null },
  { count: { $in: [3, 70_000, -3] } },
  { stock: true },
  { stock: { $ne: true } },
  { colour: { $gte: "blue" } },
  { colour: { $nin: ["red", "é"] } },
  { tags: "zz" },
  { tags: { $nin: ["a"] } },
  { $or: [{ tags: { $all: ["a", "red"] } }, { price: { $lt: 0 } }] },
];

test("a changed catalog is the one that a training with these values would give, whatever was changed before", () => {
  fc.assert(
    fc.property(rows, edits, edits, (source, base, head) => {
      const catalog = catalogOf(source.length);
      const version = { catalog, attributes: tableOf(source) };
      const [baseOf, headOf] = [latest(base), latest(head)];
      const apply = (before: ReturnType<typeof unchanged>, given: typeof baseOf) =>
        withItemChanges(
          version,
          before,
          changesOf([...given.values()].map((e) => changed(e.item, e.values, e.hidden))),
        );
      const found = apply(apply(unchanged(version), baseOf), headOf);
      const editOf = (item: number) => headOf.get(item) ?? baseOf.get(item);
      const expected = tableOf(source.map((row, item) => ({ ...row, ...editOf(item)?.values })));
      const matching = (attributes: typeof expected, filter: object) => {
        const isMatch = compileFilter(parseFilter(filter), { table: attributes, catalog, itemIdColumn: "item_id" });
        return source.map((_, item) => isMatch(item as ItemIndex));
      };
      for (const item of source.keys()) {
        const at = item as ItemIndex;
        expect(attributesOf(found.attributes!, at)).toEqual(attributesOf(expected, at));
        expect(found.hidden !== null && isHiddenIn(found.hidden, at)).toBe(editOf(item)?.hidden ?? false);
      }
      for (const filter of FILTERS) expect(matching(found.attributes!, filter)).toEqual(matching(expected, filter));
      expect(attributesOf(version.attributes, 0 as ItemIndex)).toEqual(attributesOf(tableOf(source), 0 as ItemIndex));
    }),
    { numRuns: 500 },
  );
});

test("with new items a catalog is the one of a training that has them too, and they stay until they are withdrawn", () => {
  const added = fc.uniqueArray(fc.record({ item: fc.integer({ min: 12, max: 20 }), values: fc.record(rowOf) }), {
    selector: ({ item }) => item,
    maxLength: 5,
  });
  fc.assert(
    fc.property(rows, edits, added, added, fc.nat(20), (source, edited, base, head, withdrawn) => {
      const version = { catalog: catalogOf(source.length), attributes: tableOf(source), changesFrom: 0 };
      const baseOf = new Map(base.map(({ item, values }) => [item, values]));
      const headOf = new Map(head.map(({ item, values }) => [item, values]));
      const news = (given: typeof baseOf) => [...given].map(([i, values]) => ({ ...changed(i, values), newAt: 1 }));
      const known = [...latest(edited).values()].filter(({ item }) => item < source.length);
      const inBase = [...news(baseOf), ...known.map(({ item, values }) => changed(item, values))];
      const isGone = baseOf.has(withdrawn) && !headOf.has(withdrawn);
      const inHead = [...news(headOf), ...(isGone ? [changed(withdrawn, {})] : [])];
      const first = withItemChanges(version, unchanged(version), changesOf(inBase));
      const found = withItemChanges(version, first, changesOf(inHead));

      const values = new Map<number, Row>([...source.entries(), ...baseOf, ...headOf]);
      for (const { item, values: edit } of known) values.set(item, { ...values.get(item)!, ...edit });
      expect(found.catalog.itemCount).toBe(source.length + new Set([...baseOf.keys(), ...headOf.keys()]).size);
      for (const [item, row] of values) {
        const at = found.catalog.indexOf(idOf(item))!;
        expect(found.catalog.idAt(at)).toBe(idOf(item));
        expect(at < source.length).toBe(item < source.length);
        const isHidden = found.hidden !== null && isHiddenIn(found.hidden, at);
        expect([item, isHidden]).toEqual([item, isGone && item === withdrawn]);
        const shown = isHidden ? { price: null, count: null, stock: null, colour: null, tags: [] } : row;
        expect(attributesOf(found.attributes!, at)).toEqual(attributesOf(tableOf([shown]), 0 as ItemIndex));
      }
    }),
    { numRuns: 300 },
  );
});

test("a new item that the source's data have overtaken is none, and of more than the limit the last ones are left out", () => {
  const attributes = tableOf([{ price: 5, count: 1, stock: true, colour: "red", tags: [] }]);
  const version = { catalog: catalogOf(1), attributes, changesFrom: 1000 };
  const items = (count: number, newAt: number) =>
    changesOf(Array.from({ length: count }, (_, i) => ({ ...changed(i + 1, { price: 2 }), newAt })));
  expect(withItemChanges(version, unchanged(version), items(3, 999)).catalog).toBe(version.catalog);
  const { catalog, attributes: longer } = withItemChanges(version, unchanged(version), items(3, 1000));
  expect(catalog.itemCount).toBe(4);
  expect(attributesOf(longer!, 3 as ItemIndex)).toEqual({ price: 2 }); // changed at second 1: it lasts as long as the item
  expect(withItemChanges(version, unchanged(version), items(10_005, 1000)).catalog.itemCount).toBe(10_001);
});

test("where an item is new, a head that changes nothing of a column does not copy it", () => {
  const attributes = tableOf([{ price: 5, count: 1, stock: true, colour: "red", tags: ["a"] }]);
  const version = { catalog: catalogOf(1), attributes };
  const first = withItemChanges(version, unchanged(version), changesOf([{ ...changed(1, { price: 2 }), newAt: 1 }]));
  const head = changesOf([{ ...changed(1, { price: 3 }), newAt: 1 }, changed(0, { colour: "red" })]);
  const { columns } = withItemChanges(version, first, head).attributes!;
  const copied = [...columns].filter(([name, column]) => column !== first.attributes!.columns.get(name));
  expect(copied.map(([name]) => name)).toEqual(["price"]);
});

test("values of another type, unknown attributes and unknown items change nothing", () => {
  const version = {
    catalog: catalogOf(1),
    attributes: tableOf([{ price: 5, count: 1, stock: true, colour: "red", tags: ["a"] }]),
  };
  const wrong = { price: "5", count: true, stock: 1, colour: 7, tags: "b", weight: 3 } as unknown as Partial<Row>;
  const { attributes, hidden } = withItemChanges(
    version,
    unchanged(version),
    changesOf([changed(0, wrong), changed(9, {}, true)]),
  );
  expect(attributesOf(attributes!, 0 as ItemIndex)).toEqual(attributesOf(version.attributes, 0 as ItemIndex));
  expect(isHiddenIn(hidden!, 0 as ItemIndex)).toBe(false);
});

test.each([
  ["before the data were read, by more than the lag", 999, 5],
  ["within the lag", 1000, 7],
  ["after the training", 5000, 7],
])("a value that was changed %s", (_, at, price) => {
  const attributes = tableOf([{ price: 5, count: 1, stock: true, colour: "red", tags: [] }]);
  const version = { catalog: catalogOf(1), attributes, changesFrom: 1000 };
  const item = { id: idOf(0), hidden: true, values: { price: { value: 7, at } } };
  const found = withItemChanges(version, unchanged(version), changesOf([item]));
  expect(attributesOf(found.attributes!, 0 as ItemIndex).price).toBe(price);
  expect(isHiddenIn(found.hidden!, 0 as ItemIndex)).toBe(true); // a training shows no hidden item again
});

test("a version without attributes can still hide items", () => {
  const version = { catalog: catalogOf(9), attributes: null };
  const { attributes, hidden } = withItemChanges(
    version,
    unchanged(version),
    changesOf([changed(8, { price: 1 }, true)]),
  );
  expect(attributes).toBeNull();
  expect([7, 8].map((item) => isHiddenIn(hidden!, item as ItemIndex))).toEqual([false, true]);
});

test("numbers that a column of 100,000 distinct ones cannot hold, and changed times", () => {
  const itemCount = 100_000;
  const columns: AttributeColumn[] = [
    { name: "price", type: "Numerical", values: Float64Array.from({ length: itemCount }, (_, i) => i * 1000) },
    { name: "score", type: "Numerical", values: Float64Array.from({ length: itemCount }, (_, i) => i + 0.5) },
    { name: "from", type: "Timestamp", values: Float64Array.from({ length: itemCount }, (_, i) => 1.7e9 + i) },
  ];
  const version = { catalog: catalogOf(itemCount), attributes: decodeAttributes(encodeAttributes(columns, itemCount)) };
  const at = (value: unknown) => ({ value: value as number, at: 1 });
  const values = { price: at(19.99), score: at(0.1), from: at("2026-01-01T00:00:00Z") };
  const { attributes, bytes } = withItemChanges(
    version,
    unchanged(version),
    changesOf([{ id: idOf(3), hidden: false, values }]),
  );
  expect(attributesOf(attributes!, 3 as ItemIndex)).toEqual({
    price: 19.99,
    score: 0.1,
    from: "2026-01-01T00:00:00.000Z",
  });
  for (const item of [2, 4, 99_999])
    expect(attributesOf(attributes!, item as ItemIndex)).toEqual(attributesOf(version.attributes, item as ItemIndex));
  expect(bytes).toBeGreaterThan(0);
});
