import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  ALWAYS,
  combine,
  countTests,
  isTest,
  type KeyTest,
  type KeyTree,
  keyTreeOf,
  NEVER,
  negate,
  toClauses,
} from "../../../shared/filter/key-tree.ts";
import { parseFilter } from "../../../shared/filter/parse-filter.ts";
import { COLUMNS, ITEMS, passesNode, tests } from "../../fixtures/key-columns.ts";

const items = Array.from({ length: ITEMS }, (_, item) => item);
const passing = (node: KeyTree) => items.filter((item) => passesNode(node, item));

const { node: nodes } = fc.letrec<{ node: KeyTree }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 3, depthSize: "small" },
    tests as fc.Arbitrary<KeyTree>,
    fc
      .tuple(fc.constantFrom("and" as const, "or" as const), fc.array(tie("node"), { maxLength: 4 }))
      .map(([kind, of]) => combine(kind, of)),
  ),
}));

test("the negated tree passes exactly the other items", () =>
  fc.assert(
    fc.property(nodes, (node) => {
      const through = new Set(passing(node));
      expect(passing(negate(node))).toEqual(items.filter((item) => !through.has(item)));
    }),
    { numRuns: 400 },
  ));

test("combining nodes keeps their meaning", () =>
  fc.assert(
    fc.property(fc.constantFrom("and" as const, "or" as const), fc.array(nodes, { maxLength: 4 }), (kind, of) => {
      expect(passing(combine(kind, of))).toEqual(passing({ kind, of }));
    }),
    { numRuns: 400 },
  ));

test("a node has no parts of its own kind, and at most one test per column that is not a list", () =>
  fc.assert(
    fc.property(nodes, (node) => {
      const check = (each: KeyTree): void => {
        if (isTest(each)) return;
        const names = each.of
          .filter(isTest)
          .map((part) => part.column)
          .filter((column) => column.start === undefined);
        expect(new Set(names).size).toBe(names.length);
        for (const part of each.of) {
          expect(part.kind).not.toBe(each.kind);
          check(part);
        }
      };
      check(node);
    }),
  ));

test("the clauses pass the same items as the tree", () =>
  fc.assert(
    fc.property(nodes, (node) => {
      const clauses = toClauses(node, 1000)!;
      const of = clauses.map((clause): KeyTree => ({ kind: "and", of: clause }));
      expect(passing({ kind: "or", of })).toEqual(passing(node));
    }),
    { numRuns: 400 },
  ));

const [a, b, c] = COLUMNS;
const has = (column = a!, key = 1): KeyTest => ({ kind: "some", column, keys: [key, key + 1] });

test("no clauses are made beyond the bound", () => {
  const either = (...of: KeyTree[]): KeyTree => ({ kind: "or", of });
  const product: KeyTree = { kind: "and", of: [either(has(a, 1), has(c, 1)), either(has(b, 2), has(c, 2))] };
  expect(toClauses(product, 4)).toHaveLength(4);
  expect(toClauses(product, 3)).toBeUndefined();
  expect(toClauses({ kind: "or", of: [has(a), has(b), has(c)] }, 2)).toBeUndefined();
  expect(toClauses(NEVER, 0)).toEqual([]);
});
test("no clauses are made if they have too many tests together", () => {
  const tests = Array.from({ length: 200 }, (_, i) => has(c, i));
  const eithers = Array.from(
    { length: 7 },
    (_, i): KeyTree => ({ kind: "or", of: [has(c, 300 + i), has(c, 400 + i)] }),
  );
  expect(toClauses({ kind: "and", of: [...tests, ...eithers.slice(1)] }, 1000)).toHaveLength(64);
  expect(toClauses({ kind: "and", of: [...tests, ...eithers] }, 1000)).toBeUndefined();
});

describe("constants", () => {
  test("an `and` without parts is ALWAYS, an `or` is NEVER", () => {
    expect(combine("and", [])).toEqual(ALWAYS);
    expect(combine("or", [])).toEqual(NEVER);
    expect(negate(ALWAYS)).toEqual(NEVER);
  });
  test("constants vanish or decide the whole", () => {
    expect(combine("and", [ALWAYS, has()])).toEqual(has());
    expect(combine("and", [NEVER, has()])).toEqual(NEVER);
    expect(combine("or", [ALWAYS, has()])).toEqual(ALWAYS);
    expect(combine("or", [NEVER, has()])).toEqual(has());
  });
  test("one value cannot equal two different ones", () =>
    expect(combine("and", [has(a, 1), has(a, 2)])).toEqual(NEVER));
  test("counts the tests of all levels", () =>
    expect(countTests({ kind: "or", of: [has(a), { kind: "and", of: [has(b), has(c)] }] })).toBe(3));
});

test("every column of a filter is opened, even if the result does not depend on it", () => {
  const opened: string[] = [];
  keyTreeOf(parseFilter({ $and: [{ x: { $in: [] } }, { $or: [{ y: 1 }, { z: { $not: { $gt: 5 } } }] }] }), (one) => {
    opened.push(one.attribute);
    return { ...a!, name: one.attribute, keysOf: () => (one.attribute === "x" ? [] : [1, 2]) };
  });
  expect(opened).toEqual(["x", "y", "z"]);
});
