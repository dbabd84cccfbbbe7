import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FormatError } from "../../shared/assert.ts";
import { type Catalog, decodeCatalog, encodeCatalog } from "../../shared/catalog.ts";
import { encodeContainer, type TypedArray } from "../../shared/container.ts";
import { ID_BYTES_MAX, type ItemId, type ItemIdType, type ItemIndex } from "../../shared/ids.ts";
import { packStrings } from "../../shared/packed-strings.ts";

const open = (ids: readonly string[], itemIdType: ItemIdType): Catalog =>
  decodeCatalog(encodeCatalog({ itemIds: packStrings(ids), itemIdType }));
const byCodePoint = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));
const byValue = (a: string, b: string) => (BigInt(a) < BigInt(b) ? -1 : BigInt(a) > BigInt(b) ? 1 : 0);

/** Checks all properties of a catalog, for its own ids and for others. */
function check(ids: readonly string[], type: ItemIdType, others: readonly string[]): void {
  const catalog = open(ids, type);
  const sorted = ids.toSorted(type === "integer" ? byValue : byCodePoint);
  expect(catalog.itemCount).toBe(ids.length);
  expect(catalog.itemIdType).toBe(type);
  expect(ids.map((_, item) => catalog.idAt(item as ItemIndex))).toEqual(ids);
  expect(ids.map((id) => catalog.indexOf(id as ItemId))).toEqual(ids.map((_, item) => item));
  expect(Array.from(catalog.order, (item) => ids[item])).toEqual(sorted);
  expect(ids.map((id) => catalog.countBelow(id as ItemId))).toEqual(ids.map((id) => sorted.indexOf(id)));
  for (const other of others) if (!ids.includes(other)) expect(catalog.indexOf(other as ItemId)).toBeUndefined();
}

const text = fc.string({ unit: "grapheme", minLength: 1, maxLength: 8 }).map((value) => value.toWellFormed());
const small = fc.nat(2 ** 32 - 1).map(String);
const safe = fc.maxSafeInteger().map((value) => String(value));
const any = fc.bigInt({ min: -(10n ** 25n), max: 10n ** 25n }).map(String);
const odd = ["", "0", "-0", "007", "1.0", "1e3", " 1", "x", "-", "9007199254740993", "99999999999999999999", "\0"];

describe("id ↔ index, for every form of the column", () => {
  test.each<[string, fc.Arbitrary<string>, ItemIdType]>([
    ["text", text, "string"],
    ["text that looks like numbers", any, "string"],
    ["small integers", small, "integer"],
    ["safe integers", safe, "integer"],
    ["integers of any size", any, "integer"],
  ])("%s", (_, id, type) =>
    fc.assert(
      fc.property(fc.uniqueArray(id, { maxLength: 80, size: "max" }), fc.array(id), (ids, others) =>
        check(ids, type, [...others, ...odd]),
      ),
    ),
  );

  test("integers on both sides of 2^32", () => {
    check(["0", "4294967295"], "integer", ["4294967296"]);
    check(["1", "4294967296"], "integer", ["0"]);
  });

  test("ids of every allowed length", () =>
    check(
      Array.from({ length: ID_BYTES_MAX }, (_, i) => String.fromCharCode(33 + (i % 90)).repeat(i + 1)),
      "string",
      ["x".repeat(ID_BYTES_MAX + 1), "#"],
    ));
});

test("sizes are as documented: 8 bytes for an integer id, its bytes and 5 for a text id", () => {
  const ids = Array.from({ length: 10_000 }, (_, i) => String(i));
  const header = encodeCatalog({ itemIds: packStrings([]), itemIdType: "integer" }).length + 16;
  const bytes = (itemIds: string[], itemIdType: ItemIdType) =>
    encodeCatalog({ itemIds: packStrings(itemIds), itemIdType }).length - header;
  expect(bytes(ids, "integer")).toBeLessThan(10_000 * 8.01);
  expect(
    bytes(
      ids.map((id) => id.padStart(10, "B")),
      "string",
    ),
  ).toBeLessThan(10_000 * 15.02);
});

test("the example in the header comment", () => {
  const file = encodeCatalog({ itemIds: packStrings(["b", "ab", "c"]), itemIdType: "string" });
  const start = 16 + new DataView(file.buffer).getUint32(12, true);
  const hex = Buffer.from(file.subarray(start)).toString("hex");
  expect(hex).toBe("6261626300000000" + "0001000000000000" + "010000000000000002000000" + "00000000");
});

test("an index outside the catalog is a bug of the caller", () => {
  expect(() => open(["a"], "string").idAt(1 as ItemIndex)).toThrow(RangeError);
  expect(() => open(["7"], "integer").idAt(-1 as ItemIndex)).toThrow("no item -1 of 1");
  expect(() => open([], "integer").idAt(0 as ItemIndex)).toThrow("no item 0 of 0");
});

test.each<[string, string[], ItemIdType, string]>([
  ["an id that repeats", ["a", "b", "a"], "string", 'item id "a" repeats'],
  ["an integer that repeats", ["1", "1"], "integer", 'item id "1" repeats'],
  ["an empty id", ["a", ""], "string", "item id 1 has 0 bytes"],
  ["an id that is too long", ["x".repeat(257)], "string", "item id 0 has 257 bytes"],
  ["an integer that is not canonical", ["01"], "integer", "canonical"],
])("%s is not written", (_, ids, itemIdType, sentence) =>
  expect(() => encodeCatalog({ itemIds: packStrings(ids), itemIdType })).toThrow(sentence),
);

const file = (metadata: object, arrays: Record<string, TypedArray>) =>
  encodeContainer({ kind: "catalog", metadata: { item_count: 2, item_id_type: "integer", ...metadata }, arrays });
const order = Uint32Array.of(0, 1);

test.each<[string, Uint8Array, string]>([
  ["an order beyond the catalog", file({ form: "numbers" }, { ids: order, order: Uint32Array.of(0, 2) }), "item ≥ 2"],
  ["too few ids", file({ form: "numbers" }, { ids: Uint32Array.of(1), order }), "expected 2 elements, found 1"],
  [
    "an id that is no integer",
    file({ form: "numbers" }, { ids: Float64Array.of(1, Number.NaN), order }),
    "safe integer",
  ],
  ["ids of another type", file({ form: "numbers" }, { ids: Float32Array.of(1, 2), order }), "expected u32 or f64"],
  [
    "lengths that do not fit the text",
    file({ form: "text" }, { bytes: Uint8Array.of(65), length_less_1: Uint8Array.of(0, 0), order }),
    "the ids need 2 bytes, found 1",
  ],
  [
    "an id that is not UTF-8",
    file({ form: "text" }, { bytes: Uint8Array.of(65, 0xff), length_less_1: Uint8Array.of(0, 0), order }),
    "an id is not UTF-8",
  ],
  [
    "a character parted between two ids",
    file({ form: "text" }, { bytes: Uint8Array.of(65, 0xc3, 0xa9), length_less_1: Uint8Array.of(1, 0), order }),
    "an id is not UTF-8",
  ],
  [
    "a character parted between two ids before the last",
    file(
      { form: "text", item_count: 3 },
      { bytes: Uint8Array.of(0xc3, 0xa9, 65), length_less_1: new Uint8Array(3), order: Uint32Array.of(0, 1, 2) },
    ),
    "an id is not UTF-8",
  ],
  ["no order", file({ form: "numbers" }, { ids: order }), '"order" is missing'],
  ["a form that does not exist", file({ form: "hash" }, { ids: order, order }), "metadata"],
])("a file with %s is refused", (_, bytes, sentence) => {
  expect(() => decodeCatalog(bytes)).toThrow(FormatError);
  expect(() => decodeCatalog(bytes)).toThrow(sentence);
});
