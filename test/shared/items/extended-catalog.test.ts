import fc from "fast-check";
import { expect, test } from "vitest";
import { attributesOf } from "../../../shared/attribute-values.ts";
import { decodeAttributes, encodeAttributes } from "../../../shared/attributes.ts";
import { decodeCatalog, encodeCatalog } from "../../../shared/catalog.ts";
import type { ItemId, ItemIdType, ItemIndex } from "../../../shared/ids.ts";
import { isIdOf, longerTable, withIds } from "../../../shared/items/extended-catalog.ts";
import { packStrings, textOf } from "../../../shared/packed-strings.ts";

const catalogOf = (ids: readonly string[], itemIdType: ItemIdType) =>
  decodeCatalog(encodeCatalog({ itemIds: packStrings(ids), itemIdType }));
const integer = fc.bigInt({ min: -(10n ** 17n), max: 10n ** 17n }).map(String);
const small = fc.integer({ min: -50, max: 50 }).map(String);

test.each<[ItemIdType, fc.Arbitrary<string>]>([
  ["string", fc.oneof(fc.string({ minLength: 1, maxLength: 3, unit: "binary" }), small)],
  ["integer", small],
  ["integer", fc.oneof(small, integer)],
])("a catalog of %s ids with further ones is the catalog of all of them", (type, id) => {
  const ids = fc.uniqueArray(
    id.filter((text) => text.isWellFormed() && !text.includes("\0")),
    { maxLength: 30 },
  );
  fc.assert(
    fc.property(ids, fc.nat(30), fc.array(id, { maxLength: 5 }), (all, cut, others) => {
      const expected = catalogOf(all, type);
      const found = withIds(catalogOf(all.slice(0, cut), type), all.slice(cut) as ItemId[]);
      expect([found.itemCount, found.itemIdType]).toEqual([all.length, type]);
      expect([...found.order]).toEqual([...expected.order]);
      expect(all.map((_, item) => found.idAt(item as ItemIndex))).toEqual(all);
      const visited: [number, string][] = [];
      found.forEachId((item, bytes, start, end) => visited.push([item, textOf(bytes.slice(start, end))]));
      expect(visited).toEqual([...all.entries()]);
      for (const one of [...all, ...others] as ItemId[]) {
        expect(found.indexOf(one)).toBe(expected.indexOf(one));
        expect(found.countBelow(one)).toBe(expected.countBelow(one));
      }
    }),
  );
});

test("further items have no place", () => {
  const place = { name: "place", type: "Location", lat: Float64Array.of(1), lon: Float64Array.of(2) } as const;
  const table = longerTable(decodeAttributes(encodeAttributes([place], 1)), 3);
  const shown = [0, 1, 2].map((item) => attributesOf(table, item as ItemIndex));
  expect(shown).toEqual([{ place: "1,2" }, {}, {}]);
});

test("texts that are no integers are no ids of a catalog of integers", () => {
  const is = (type: ItemIdType) => ["7", "-7", "07", "x", ""].map((id) => isIdOf(type, id as ItemId));
  expect(is("integer")).toEqual([true, true, false, false, false]);
  expect(is("string")).toEqual([true, true, true, true, true]);
});
