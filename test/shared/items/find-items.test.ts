import fc from "fast-check";
import { expect, test } from "vitest";
import type { ItemId } from "../../../shared/ids.ts";
import { findItems } from "../../../shared/items/find-items.ts";
import { openShop, type ShopItem } from "../../fixtures/filter-shop.ts";

const text = fc.string({ unit: fc.constantFrom(..."aAbBéÉжЖßı1 -"), minLength: 1, maxLength: 5 });
const optional = fc.option(text);
const blank = { price: null, year: null, weight: null, stock: null, at: null };
const item: fc.Arbitrary<ShopItem> = fc.record({
  id: fc.oneof(text, fc.nat(200).map(String)),
  color: optional,
  title: optional,
  tags: fc.array(text, { maxLength: 2 }),
  ...(Object.fromEntries(Object.keys(blank).map((name) => [name, fc.constant(null)])) as Record<
    keyof typeof blank,
    fc.Arbitrary<null>
  >),
});
const items = fc.uniqueArray(item, { selector: ({ id }) => id, maxLength: 12 });

test("finds what the obvious search finds, page by page, the item of that id first", () => {
  fc.assert(
    fc.property(items, fc.array(text, { maxLength: 3 }), fc.nat(5), (all, words, limit) => {
      const { catalog, table } = openShop(all, "string");
      const search = words.join(" ");
      const wanted = search.toLowerCase().split(/\s+/).filter(Boolean);
      const texts = all.map(({ id, color, title, tags }) => [id, color ?? "", title ?? "", ...tags]);
      const has = (one: string[]) => wanted.every((word) => one.some((text) => text.toLowerCase().includes(word)));
      const found = [...all.keys()].filter((at) => has(texts[at]!) && at % 3 !== 2);
      const first = found.filter((at) => wanted.length > 0 && all[at]!.id === search.trim());
      const expected = [...first, ...found.filter((at) => !first.includes(at))];
      const page = (offset: number) =>
        findItems({ catalog, attributes: table }, { search, isMatch: (at) => at % 3 !== 2, limit: limit + 1, offset });
      const pages = [];
      for (let offset = 0; offset < Math.max(1, expected.length); offset += limit + 1) pages.push(page(offset));
      expect(pages.map(({ total }) => total)).toEqual(pages.map(() => expected.length));
      expect(pages.flatMap((one) => one.items)).toEqual(expected);
      expect(page(expected.length).items).toEqual([]);
    }),
  );
});

test("digits of integer ids are found, also of negative ones", () => {
  const ids = ["0", "7", "1207", "-120", "70", "9007199254740991"];
  const { catalog } = openShop(
    ids.map((id) => ({ id, color: null, title: null, tags: [], ...blank })),
    "integer",
  );
  const found = (search: string) =>
    findItems({ catalog, attributes: null }, { search, isMatch: () => true, limit: 9, offset: 0 }).items.map((at) =>
      catalog.idAt(at),
    );
  expect(found("7")).toEqual(["7", "1207", "70", "9007199254740991"]);
  expect(found("120")).toEqual(["1207", "-120"]);
  expect(found("-1")).toEqual(["-120"]);
  expect(found("07")).toEqual(["1207", "9007199254740991"]);
  expect(found(" 0 ")[0]).toBe("0" as ItemId);
});

test("texts that would take seconds are refused", () => {
  const title = "a".repeat(1000);
  const { catalog, table } = openShop(
    Array.from({ length: 3000 }, (_, i) => ({ id: `i${i}`, color: `${title}${i}`, title: null, tags: [], ...blank })),
    "string",
  );
  const find = (search: string) =>
    findItems({ catalog, attributes: table }, { search, isMatch: () => true, limit: 1, offset: 0 }).total;
  expect(find("aaaaaa 2999")).toBe(1);
  expect(() => find(`${"a".repeat(50)}b`)).toThrow("/search takes too long");
});
