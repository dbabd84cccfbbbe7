import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compileFilter, type FilterSource } from "../../../shared/filter/compile-filter.ts";
import { parseFilter } from "../../../shared/filter/parse-filter.ts";
import type { ItemIndex } from "../../../shared/ids.ts";
import type { Problem } from "../../../shared/problem.ts";
import { openShop, queries, type ShopItem, shops } from "../../fixtures/filter-shop.ts";
import { passes } from "../../fixtures/slow-filter.ts";

test("the compiled filter and the slow reference agree on every item and query", () => {
  let matched = 0;
  let asked = 0;
  fc.assert(
    fc.property(
      shops.chain((shop) =>
        fc.tuple(fc.constant(shop), fc.array(queries[shop.itemIdType], { minLength: 8, maxLength: 8 })),
      ),
      ([{ items, itemIdType }, sent]) => {
        const source = openShop(items, itemIdType);
        for (const query of sent) {
          const isMatch = compileFilter(parseFilter(query), source);
          const expected = items.map((item) => passes(query, item, itemIdType));
          expect(items.map((_, item) => isMatch(item as ItemIndex))).toEqual(expected);
          asked += items.length;
          matched += expected.filter(Boolean).length;
        }
      },
    ),
    { numRuns: 300 },
  );
  expect(matched / asked).toBeGreaterThan(0.2); // the test means little if nearly nothing or everything matches
  expect(matched / asked).toBeLessThan(0.8);
});

test("they agree on queries so large that they use a clause table", () =>
  fc.assert(
    fc.property(
      shops.chain((shop) =>
        fc.tuple(
          fc.constant(shop),
          fc.array(queries[shop.itemIdType], { minLength: 6, maxLength: 12 }),
          fc.constantFrom("$and", "$or", "$nor"),
        ),
      ),
      ([{ items, itemIdType }, parts, connective]) => {
        const query = { [connective]: parts };
        const isMatch = compileFilter(parseFilter(query), openShop(items, itemIdType));
        const expected = items.map((item) => passes(query, item, itemIdType));
        expect(items.map((_, item) => isMatch(item as ItemIndex))).toEqual(expected);
      },
    ),
    { numRuns: 250 },
  ));

const empty: ShopItem = {
  id: "none",
  color: null,
  title: null,
  tags: [],
  price: null,
  year: null,
  weight: null,
  stock: null,
  at: null,
};
const items: ShopItem[] = [
  { ...empty, id: "7", color: "red", tags: ["new", "sale"], price: 10, stock: true, at: 1_700_000_000 },
  { ...empty, id: "8", color: "blue", tags: ["new"], price: 20, stock: false },
  { ...empty, id: "9" },
];
const shop = openShop(items, "string");

/** The ids of the items that a query lets through. */
function ids(query: unknown): string[] {
  const isMatch = compileFilter(parseFilter(query), shop);
  return items.filter((_, item) => isMatch(item as ItemIndex)).map((item) => item.id);
}

describe("by hand: 7 is red, new, on sale, 10, in stock; 8 is blue, new, 20, not in stock; 9 has nothing", () => {
  test.each<[unknown, string[]]>([
    [{}, ["7", "8", "9"]],
    [{ color: "red" }, ["7"]],
    [{ color: null }, ["9"]],
    [{ color: { $ne: "red" } }, ["8", "9"]],
    [{ color: { $in: ["red", null] } }, ["7", "9"]],
    [{ color: { $in: [] } }, []],
    [{ color: { $nin: [] } }, ["7", "8", "9"]],
    [{ color: {} }, ["7", "8", "9"]],
    [{ color: { $exists: true } }, ["7", "8"]],
    [{ tags: "new" }, ["7", "8"]],
    [{ tags: { $ne: "sale" } }, ["8", "9"]],
    [{ tags: { $all: ["new", "sale"] } }, ["7"]],
    [{ tags: { $all: [] } }, []],
    [{ tags: { $gt: "new" } }, ["7"]],
    [{ tags: { $gt: "new", $lt: "o" } }, ["7"]], // "sale" is above "new", "new" is below "o"
    [{ tags: { $not: { $gt: "new" } } }, ["8", "9"]],
    [{ tags: null }, ["9"]],
    [{ price: { $gte: 10, $lt: 20 } }, ["7"]],
    [{ price: { $not: { $gte: 15 } } }, ["7", "9"]],
    [{ stock: { $ne: true } }, ["8", "9"]],
    [{ at: { $gte: "2023-11-14T22:13:20Z" } }, ["7"]],
    [{ at: 1_700_000_000_000 }, ["7"]],
    [{ id: { $nin: [7, "9"] } }, ["8"]],
    [{ id: { $gt: "7" } }, ["8", "9"]],
    [{ id: null }, []],
    [{ $or: [{ color: "red" }, { price: 20 }] }, ["7", "8"]],
    [{ $nor: [{ color: "red" }, { price: 20 }] }, ["9"]],
    [{ $not: { $and: [{ tags: "new" }, { tags: "sale" }] } }, ["8", "9"]],
    [{ color: "red", price: { $gt: 100 } }, []],
  ])("%j", (query, expected) => expect(ids(query)).toEqual(expected));
});

test("filters on many attributes use a clause table of one clause or several", () => {
  const seven = { color: "red", title: null, tags: "new", price: { $gte: 10 }, year: null, weight: null, stock: true };
  const eight = { ...seven, color: "blue", price: 20, stock: false };
  expect([ids(seven), ids({ ...seven, title: "a" })]).toEqual([["7"], []]);
  expect([ids({ $or: [seven, eight] }), ids({ $nor: [seven, eight] })]).toEqual([["7", "8"], ["9"]]);
  expect(ids({ $not: { ...eight, id: { $gt: "7" }, at: null } })).toEqual(["7", "9"]);
});

function problemOf(query: unknown, source: FilterSource = shop): Problem {
  try {
    compileFilter(parseFilter(query), source);
  } catch (error) {
    return error as Problem;
  }
  throw new Error("nothing was refused");
}

describe("a filter that does not fit the attributes is refused, with the place of the fault", () => {
  test.each<[unknown, string, string, string]>([
    [{ colour: "red" }, "unknown_attribute", "/retrieval/colour", 'did you mean "color"?; known are id, color'],
    [{ $or: [{ color: "red" }, { x: { $gt: 1 } }] }, "unknown_attribute", "/retrieval/$or/1/x", "known are id, color"],
    [{ colour: {} }, "unknown_attribute", "/retrieval/colour", "known"],
    [{ $or: [{ x: { $not: {} } }] }, "unknown_attribute", "/retrieval/$or/0/x", "known"],
    [JSON.parse('{"__proto__":{}}'), "unknown_attribute", "/retrieval/__proto__", "known"],
    [{ __proto__x: 1 }, "unknown_attribute", "/retrieval/__proto__x", "known"],
    [{ "a/b~c": 1 }, "unknown_attribute", "/retrieval/a~1b~0c", "known"],
    [{ color: 7 }, "filter_type_mismatch", "/retrieval/color", 'expected text, found 7; as text it is "7"'],
    [{ tags: { $all: ["a", true] } }, "filter_type_mismatch", "/retrieval/tags/$all/1", "expected text, found true"],
    [{ price: { $in: [1, "2"] } }, "filter_type_mismatch", "/retrieval/price/$in/1", 'expected a number, found "2"'],
    [{ price: { $gt: "cheap" } }, "filter_type_mismatch", "/retrieval/price/$gt", "expected a number"],
    [{ stock: 1 }, "filter_type_mismatch", "/retrieval/stock", "expected true or false, found 1"],
    [{ stock: { $gt: 0 } }, "filter_type_mismatch", "/retrieval/stock/$gt", "no order"],
    [{ at: "yesterday" }, "filter_type_mismatch", "/retrieval/at", "RFC 3339"],
    [{ at: { $not: { $lt: "2024-02-30" } } }, "filter_type_mismatch", "/retrieval/at/$not/$lt", "RFC 3339"],
    [{ id: 1.5 }, "filter_type_mismatch", "/retrieval/id", "an item id"],
    [{ id: { $in: ["a", 2 ** 53] } }, "filter_type_mismatch", "/retrieval/id/$in/1", "send larger ones as text"],
    [{ id: { $nin: [true] } }, "filter_type_mismatch", "/retrieval/id/$nin/0", "an item id"],
    // An invalid test is found even if the result does not depend on it.
    [{ $and: [{ color: { $in: [] } }, { nope: 1 }] }, "unknown_attribute", "/retrieval/$and/1/nope", "known"],
  ])("%j", (query, code, pointer, sentence) => {
    const problem = problemOf(query);
    expect(problem.code).toBe(code);
    expect(problem.errors[0]).toMatchObject({ pointer, code });
    expect(problem.message).toContain(sentence);
  });

  test("a version without attributes has only the id column", () => {
    const bare = { ...shop, table: null };
    expect(problemOf({ color: "red" }, bare).message).toContain("known are id");
    expect(compileFilter(parseFilter({ id: "7" }), bare)(0 as ItemIndex)).toBe(true);
  });

  test("an integer id column is not compared with other text", () =>
    expect(problemOf({ id: { $lt: "x" } }, openShop([], "integer")).message).toContain("expected an integer"));
});

test("long lists of included or excluded ids, and half of the catalog", () => {
  const many = Array.from({ length: 20_000 }, (_, i) => ({ ...empty, id: String(i) }));
  const source = openShop(many, "integer");
  const even = many.filter((_, i) => i % 2 === 0).map((item) => item.id);
  const $in = even.slice(0, 1000);
  const isIn = compileFilter(parseFilter({ id: { $in } }), source);
  const isOut = compileFilter(parseFilter({ id: { $nin: $in } }), source);
  const tables: ArrayBufferView[] = [];
  const onTable = (table: ArrayBufferView) => tables.push(table);
  const isHalf = compileFilter(parseFilter({ id: { $gte: 10_000 } }), { ...source, onTable });
  expect(tables.map(({ byteLength }) => byteLength)).toEqual([many.length]);
  const passing = (isMatch: (item: ItemIndex) => boolean) =>
    many.filter((_, i) => isMatch(i as ItemIndex)).map(({ id }) => id);
  expect(passing(isIn)).toEqual($in);
  const listed = new Set($in);
  expect(passing(isOut)).toEqual(many.map(({ id }) => id).filter((id) => !listed.has(id)));
  expect(passing(isHalf)).toEqual(many.slice(10_000).map(({ id }) => id));
});

test("a filter that needs thousands of values in one list compiles quickly", () => {
  const tags = Array.from({ length: 1200 }, (_, i) => i.toString(36));
  const lists = [tags, tags.slice(1), tags.slice(0, 1199), []];
  const source = openShop(
    lists.map((tags, i) => ({ ...empty, id: String(i), tags })),
    "integer",
  );
  const all = { $and: [0, 100, 200].map((from) => ({ tags: { $all: tags.slice(from, from + 1000) } })) };
  const clock = performance.now();
  for (const query of [all, { $not: all }]) {
    const isMatch = compileFilter(parseFilter(query), source);
    expect(lists.map((_, item) => isMatch(item as ItemIndex))).toEqual(
      lists.map((_, i) => (i === 0) === (query === all)),
    );
  }
  expect(performance.now() - clock).toBeLessThan(10_000);
});
test("hundreds of tests on one list fit into an isolate's memory", () => {
  const lists = Array.from({ length: 500 }, (_, i) => Array.from({ length: 250 }, (_, j) => (i + j).toString(36)));
  const source = openShop(
    lists.map((tags, i) => ({ ...empty, id: String(i), tags })),
    "integer",
  );
  const query = {
    $and: Array.from({ length: 250 }, (_, i) => ({ tags: { $in: [3 * i, 3 * i + 2].map((n) => n.toString(36)) } })),
  };
  const before = process.memoryUsage().arrayBuffers;
  const isMatch = compileFilter(parseFilter({ $or: [query, { tags: "a" }] }), source);
  const bytes = process.memoryUsage().arrayBuffers - before;
  expect(lists.map((_, item) => isMatch(item as ItemIndex))).toEqual(lists.map((tags) => tags.includes("a")));
  expect(bytes).toBeLessThan(30e6);
});

describe("a filter of many nested alternatives", () => {
  const many = Array.from({ length: 20_000 }, (_, i) => ({ ...empty, id: String(i), price: i / 7, year: i % 50 }));
  const names = ["price", "year", "weight", "at"] as const;
  const nested = (width: number, depth: number): Record<string, unknown> => {
    const parts = Array.from({ length: width }, (_, i) =>
      depth === 0 ? { [names[i % 4]!]: { $gt: i } } : nested(width, depth - 1),
    );
    return { [depth % 2 === 0 ? "$or" : "$and"]: parts };
  };
  // On lists, "some element above x" and "some element above y" cannot be made one test.
  const lists = (pairs: number) => ({
    $or: Array.from({ length: 2 }, (_, j) => ({
      $and: Array.from({ length: pairs }, (_, i) => ({
        $or: [{ tags: { $gte: "ns"[i % 2]! } }, { [names[i % 4]!]: { $gt: i - 30 * j } }],
      })),
    })),
  });

  test("is evaluated test by test on a small catalog, however many alternatives there are", () => {
    for (const query of [lists(20), lists(40)]) {
      // Negated, 20 pairs give 400 clauses; 40 pairs give more clauses than are allowed.
      const isMatch = compileFilter(parseFilter(query), shop);
      expect(items.map((_, item) => isMatch(item as ItemIndex))).toEqual(
        items.map((item) => passes(query, item, "string")),
      );
    }
  });
  test("is rewritten as clauses if that is possible", () => {
    const source = openShop(many, "integer");
    const query = nested(3, 3);
    const isMatch = compileFilter(parseFilter(query), source);
    for (let item = 0; item < 20_000; item += 37)
      expect(isMatch(item as ItemIndex)).toBe(passes(query, many[item]!, "integer"));
  });
  const sourceOf = (itemCount: number) => {
    const column = (factor: number) => {
      const keys = new Uint8Array(itemCount);
      for (let item = 0; item < itemCount; item++) keys[item] = ((item * factor) % 100) + 1;
      return { type: "Numerical", form: "based", base: 0, keys } as const;
    };
    const columns = new Map(Object.entries({ price: column(7), year: column(3) }));
    const table = { itemCount, columns };
    return { table, catalog: { ...shop.catalog, itemCount }, itemIdColumn: "id" };
  };

  test("is refused if its clauses would take too long on a large catalog", () => {
    // The number of clauses is the same for the negation: 2^n + 2n.
    const pairs = (n: number) => ({
      $and: [
        ...Array.from({ length: n }, (_, i) => ({ $or: [{ price: { $gt: i } }, { year: { $gt: i } }] })),
        { $or: Array.from({ length: n }, (_, i) => ({ price: { $lt: 99 - i }, year: { $lt: 99 - i } })) },
      ],
    });
    const [some, many] = [sourceOf(100_000), sourceOf(1_000_000)];
    const isMatch = compileFilter(parseFilter(pairs(9)), some);
    for (let item = 0; item < 100_000; item += 997) {
      const [price, year] = [(item * 7) % 100, (item * 3) % 100];
      expect(isMatch(item as ItemIndex)).toBe((price > 8 || year > 8) && price < 99 && year < 99);
    }
    expect(compileFilter(parseFilter(pairs(3)), many)(0 as ItemIndex)).toBe(false);
    expect(problemOf(pairs(9), many)).toMatchObject({
      code: "filter_too_large",
      errors: [{ pointer: "/retrieval", message: expect.stringContaining("takes too long on 1000000 items") }],
    });
  });
  test("has its share of the time where a request has several filters", () => {
    const source = sourceOf(1_000_000);
    const filter = parseFilter({ $or: [{ price: { $gt: 50 } }, { year: { $gt: 50 } }] }, "/boosts/3/retrieval");
    expect(compileFilter(filter, source, 0.5)(0 as ItemIndex)).toBe(false);
    expect(() => compileFilter(filter, source, 0.01)).toThrow("/boosts/3/retrieval takes too long");
    expect(compileFilter(parseFilter({ price: { $gt: 50 } }), source, 0.01)(0 as ItemIndex)).toBe(false);
  });
  test("is refused if its few tests would take too long, but a single test never is", () => {
    const itemCount = 1_000_000;
    const keys = Float64Array.from({ length: itemCount }, (_, item) => ((item * 7919) % itemCount) / 8);
    const column = { type: "Numerical", form: "plain", keys } as const;
    const attributes = ["a", "b", "c", "d", "e", "f"];
    const table = { itemCount, columns: new Map(attributes.map((name) => [name, column])) };
    const source = { table, catalog: { ...shop.catalog, itemCount }, itemIdColumn: "id" };
    const among = (name: string, values: number) => ({
      [name]: { $in: Array.from({ length: values }, (_, i) => 125 * i) },
    });
    const isMatch = compileFilter(parseFilter(among("a", 1000)), source);
    for (let item = 0; item < itemCount; item += 997) expect(isMatch(item as ItemIndex)).toBe(keys[item]! % 125 === 0);
    expect(problemOf({ $or: attributes.map((name) => among(name, 150)) }, source).code).toBe("filter_too_large");
    const ranges = { $or: attributes.map((name, i) => ({ [name]: { $lt: i } })) };
    expect(compileFilter(parseFilter(ranges), source)(0 as ItemIndex)).toBe(true);
  });
  test("is refused if it could take seconds", () => {
    const source = { ...shop, catalog: { ...shop.catalog, itemCount: 1_000_000 } };
    expect(problemOf(lists(60), source)).toMatchObject({ code: "filter_too_large" });
    expect(problemOf(lists(60), source).message).toContain("takes too long on 1000000 items");
  });
});
