import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compileFilter } from "../../../shared/filter/compile-filter.ts";
import { parseFilter } from "../../../shared/filter/parse-filter.ts";
import type { ReferenceValue } from "../../../shared/filter/references.ts";
import { type ReferenceValues, resolveFilter } from "../../../shared/filter/resolve-filter.ts";
import type { ItemIndex } from "../../../shared/ids.ts";
import type { Problem } from "../../../shared/problem.ts";
import { openShop, queries, type ShopItem, shops } from "../../fixtures/filter-shop.ts";
import { passes } from "../../fixtures/slow-filter.ts";

type Query = Record<string, unknown>;
const MISSING = "missing";

/** The query with references in place of some constants, and the values of those that have one. */
function withReferences(query: unknown, draw: () => number) {
  const values = new Map<string, ReferenceValue>();
  const replace = (value: unknown): unknown => {
    const kind = draw();
    if (kind === 0 || value === null) return value;
    if (kind === 1) return { $user: MISSING };
    const name = `v${values.size}`;
    if (kind === 2) return { $item: MISSING, default: value };
    values.set(name, value as ReferenceValue);
    return { $context: name, default: "not used" };
  };
  const walk = (value: unknown, key = ""): unknown => {
    if (key === "$exists") return value;
    if (["$in", "$nin", "$all"].includes(key)) {
      const whole = replace(value);
      return whole === value ? (value as unknown[]).map(replace) : whole;
    }
    if (Array.isArray(value)) return value.map((part) => walk(part));
    if (typeof value !== "object" || value === null) return replace(value);
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, walk(part, name)]));
  };
  const valueFor: ReferenceValues = ({ name }) => values.get(name);
  return { query: walk(query) as Query, valueFor };
}

/** Whether an item passes: true, false, or null where a condition lacks a value (three-valued logic, as in SQL). */
function slowly(query: Query, given: Query, test: (condition: Query) => boolean): boolean | null {
  const parts = Object.entries(query).map(([key, sent]): boolean | null => {
    const same = given[key];
    if (key === "$not") return negated(slowly(sent as Query, same as Query, test));
    if (!key.startsWith("$"))
      return JSON.stringify(sent).includes(`{"$user":"${MISSING}"}`) ? null : test({ [key]: same });
    const inner = (sent as Query[]).map((part, i) => slowly(part, (same as Query[])[i]!, test));
    if (key === "$and") return all(inner);
    const any = negated(all(inner.map(negated)));
    return key === "$or" ? any : negated(any);
  });
  return all(parts);
}
const negated = (value: boolean | null) => (value === null ? null : !value);
const all = (values: readonly (boolean | null)[]) =>
  values.includes(false) ? false : values.includes(null) ? null : true;

test("references are worth their values, and what depends on a missing one passes nowhere", () => {
  let [missed, passed] = [0, 0];
  fc.assert(
    fc.property(
      shops.chain((shop) => fc.tuple(fc.constant(shop), queries[shop.itemIdType])),
      fc.array(fc.constantFrom(0, 0, 1, 2, 3, 3), { minLength: 60, maxLength: 60 }),
      ([{ items, itemIdType }, constants], draws) => {
        let at = 0;
        const { query, valueFor } = withReferences(constants, () => draws[at++ % draws.length]!);
        const missing = new Set<string>();
        const filter = resolveFilter(parseFilter(query), valueFor, missing);
        const isMatch = compileFilter(filter, openShop(items, itemIdType));
        const expected = items.map(
          (item) => slowly(query, constants, (condition) => passes(condition, item, itemIdType)) ?? false,
        );
        expect(items.map((_, item) => isMatch(item as ItemIndex))).toEqual(expected);
        expect(missing.has("$user.missing")).toBe(JSON.stringify(query).includes('"$user":'));
        if (missing.size > 0) missed++;
        passed += expected.filter(Boolean).length;
      },
    ),
    { numRuns: 1500 },
  );
  expect(missed).toBeGreaterThan(200);
  expect(passed).toBeGreaterThan(200);
});

const item: ShopItem = {
  id: "a",
  color: "red",
  title: null,
  tags: ["x", "y"],
  price: 5,
  year: 7,
  weight: null,
  stock: true,
  at: null,
};

function isMatch(query: unknown, value?: ReferenceValue): boolean {
  const filter = resolveFilter(parseFilter(query), () => value, new Set());
  return compileFilter(filter, openShop([item], "string"))(0 as ItemIndex);
}
const user = { $user: "u" };

describe("a missing reference fails its condition under every negation", () =>
  test.each<[object]>([
    [{ color: user }],
    [{ color: { $ne: user } }],
    [{ color: { $nin: ["blue", user] } }],
    [{ color: { $in: ["red", user] } }],
    [{ tags: { $not: { $all: ["no", user] } } }],
    [{ price: { $not: { $gt: 9, $lt: user } } }],
    [{ $not: { color: user } }],
    [{ $not: { color: { $ne: user } } }],
    [{ $nor: [{ color: user }, { price: 9 }] }],
    [{ $not: { $not: { $not: { color: user } } } }],
  ])("%j", (query) => {
    expect(isMatch(query)).toBe(false);
    expect(isMatch({ $or: [query, { price: 5 }] })).toBe(true);
    expect(isMatch({ $nor: [query, { price: 5 }] })).toBe(false);
  }));

test("a list stands in the place of a list, and one value does too", () => {
  expect(isMatch({ color: { $in: user } }, ["blue", "red"])).toBe(true);
  expect(isMatch({ color: { $nin: user } }, ["blue", "red"])).toBe(false);
  expect(isMatch({ color: { $nin: user } }, [])).toBe(true);
  expect(isMatch({ color: { $in: user } }, "red")).toBe(true);
  expect(isMatch({ tags: { $all: user } }, ["x", "y"])).toBe(true);
});

test("no number is the number NaN, which stands for an id that is none", () => {
  // The three attributes are stored in the three forms of numbers: `coded`, `based` and `plain`.
  const items = Array.from({ length: 20 }, (_, i) => ({ ...item, id: `${i}`, price: 0.5, year: i, weight: i + 0.1 }));
  const shop = openShop(items, "string");
  const matches = (operator: string) =>
    ["price", "year", "weight"].map((name) => {
      const filter = resolveFilter(parseFilter({ [name]: { [operator]: user } }), () => Number.NaN, new Set());
      return compileFilter(filter, shop)(0 as ItemIndex);
    });
  for (const operator of ["$eq", "$gt", "$gte", "$lt", "$lte"])
    expect(matches(operator)).toEqual([false, false, false]);
  expect(matches("$ne")).toEqual([true, true, true]);
});

test.each<[string, unknown, ReferenceValue | undefined, string, string]>([
  ["an unknown attribute", { colour: user }, undefined, "unknown_attribute", "/retrieval/colour"],
  ["a wrong type", { price: { $lt: user } }, "cheap", "filter_type_mismatch", "/retrieval/price/$lt"],
  ["a wrong type in a list", { price: { $in: user } }, [1, "x"], "filter_type_mismatch", "/retrieval/price/$in/1"],
  ["a list for a value", { color: user }, ["red"], "invalid_filter", "/retrieval/color"],
  ["a list in a list", { color: { $in: [user] } }, ["red"], "invalid_filter", "/retrieval/color/$in/0"],
  ["no order", { price: { $gt: user } }, true, "invalid_filter", "/retrieval/price/$gt"],
  [
    "a default of a wrong type",
    { price: { ...user, default: "x" } },
    undefined,
    "filter_type_mismatch",
    "/retrieval/price",
  ],
  ["an object as default", { price: { ...user, default: {} } }, 1, "invalid_filter", "/retrieval/price/default"],
  ["two references", { price: { ...user, $item: "price" } }, 1, "invalid_filter", "/retrieval/price/$item"],
  ["an operator beside it", { price: { ...user, $lt: 5 } }, 1, "invalid_filter", "/retrieval/price/$lt"],
  ["no name", { price: { $user: "" } }, 1, "invalid_filter", "/retrieval/price/$user"],
  [
    "a name that is no text",
    { price: { $in: [{ $context: 5 }] } },
    1,
    "invalid_filter",
    "/retrieval/price/$in/0/$context",
  ],
  ["a reference in the place of an attribute", { $user: "u" }, 1, "invalid_filter", "/retrieval/$user"],
  ["$exists of a reference", { price: { $exists: user } }, true, "invalid_filter", "/retrieval/price/$exists"],
  [
    "too many values",
    { $or: Array.from({ length: 11 }, () => ({ color: { $in: user } })) },
    Array(100).fill("x"),
    "filter_too_large",
    "/retrieval/$or/10/color/$in",
  ],
])("%s is refused", (_, query, value, code, pointer) => {
  let problem: Problem | undefined;
  try {
    isMatch(query, value);
  } catch (error) {
    problem = error as Problem;
  }
  expect(problem).toMatchObject({ code, errors: [{ pointer }] });
});

test("deep JSON is refused as it is without references", () => {
  const deep = (inner: unknown) => ({
    price: Array.from({ length: 5000 }).reduce<unknown>((of) => ({ $not: of }), inner),
  });
  expect(() => parseFilter(deep(user))).toThrow("level");
});
