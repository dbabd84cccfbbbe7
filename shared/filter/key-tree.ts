/** A retrieval query after its values are looked up: a small tree of tests on keys, simplified. */

import type { KeyColumn } from "./key-column.ts";
import { complement, intersection, type KeySet, union } from "./key-set.ts";
import type { Filter, FilterTest } from "./parse-filter.ts";

/** `some`: a key of the item is in the set (most attributes have exactly one key per item). `none`: no key is. */
export type KeyTest = { readonly kind: "some" | "none"; readonly column: KeyColumn; readonly keys: KeySet };
export type KeyTree = KeyTest | { readonly kind: "and" | "or"; readonly of: readonly KeyTree[] };

export const ALWAYS: KeyTree = { kind: "and", of: [] };
export const NEVER: KeyTree = { kind: "or", of: [] };

export const isTest = (node: KeyTree): node is KeyTest => "column" in node;

/** The tree of a query. `open` gives the column of a test; it and the column throw what does not fit. */
export function keyTreeOf(query: Filter, open: (test: FilterTest) => KeyColumn): KeyTree {
  if (query.kind === "not") return negated(keyTreeOf(query.of, open));
  if ("attribute" in query) {
    const column = open(query);
    return testOf({ kind: "some", column, keys: column.keysOf(query) });
  }
  const nodes = query.of.map((part) => keyTreeOf(part, open)); // every part, so that every mistake is found
  return joined(query.kind, nodes);
}

/** The exact complement. */
export function negated(node: KeyTree): KeyTree {
  if (!isTest(node)) return joined(node.kind === "and" ? "or" : "and", node.of.map(negated));
  if (node.column.start === undefined) return testOf({ ...node, keys: complement(node.keys) });
  return testOf({ ...node, kind: node.kind === "some" ? "none" : "some" });
}

/** One node for several: flat, without constants, and with one test per attribute where tests can be merged. */
export function joined(kind: "and" | "or", nodes: readonly KeyTree[]): KeyTree {
  const flat = nodes.flatMap((node) => (node.kind === kind ? node.of : [node]));
  const groups = new Map<unknown, KeyTest[]>();
  const inner: KeyTree[] = [];
  for (const node of flat) {
    if (!isTest(node)) {
      inner.push(node);
      continue;
    }
    const name = `${node.kind} ${node.column.name}`;
    const group = groups.get(name);
    if (group) group.push(node);
    else groups.set(name, [node]);
  }
  const merged = [...[...groups.values()].flatMap((group) => mergedTests(kind, group)), ...inner];
  // An inner node is of the other kind, and without parts it is a constant that decides: false in an `and`, true in an `or`.
  const decided = merged.find((node) => !isTest(node) && node.of.length === 0);
  if (decided) return decided;
  return merged.length === 1 ? merged[0]! : { kind, of: merged };
}

/** Of all clauses together: making more of them takes too long. */
const CLAUSE_TESTS_MAX = 16_384;
const testsIn = (clauses: readonly (readonly KeyTest[])[]) => clauses.reduce((sum, { length }) => sum + length, 0);

/**
 * The same as an `or` of `and`s of tests, or undefined when that takes more than `clausesMax` of them, or too many tests.
 * Tests of a clause are on different columns, except for lists.
 */
export function clausesOf(node: KeyTree, clausesMax: number): (readonly KeyTest[])[] | undefined {
  if (isTest(node)) return [[node]];
  if (node.kind === "or") {
    const all: (readonly KeyTest[])[] = [];
    for (const part of node.of) {
      const clauses = clausesOf(part, clausesMax);
      if (clauses === undefined || all.length + clauses.length > clausesMax) return undefined;
      all.push(...clauses);
    }
    return testsIn(all) > CLAUSE_TESTS_MAX ? undefined : all;
  }
  let product = conjunction(node.of.filter(isTest)); // at once: one after another, a thousand of them took seconds
  for (const part of node.of) {
    if (isTest(part)) continue;
    const clauses = clausesOf(part, clausesMax);
    if (clauses === undefined || product.length * clauses.length > clausesMax) return undefined;
    const tests = testsIn(product) * clauses.length + testsIn(clauses) * product.length;
    if (tests > CLAUSE_TESTS_MAX) return undefined;
    product = product.flatMap((left) => clauses.flatMap((right) => conjunction([...left, ...right])));
  }
  return product;
}

/** The clause of these tests, or nothing when no item can pass them all. */
function conjunction(tests: readonly KeyTest[]): (readonly KeyTest[])[] {
  const node = joined("and", tests);
  if (isTest(node)) return [[node]];
  return node.kind === "and" ? [node.of.filter(isTest)] : [];
}

/** How many tests the tree has. */
export const testCount = (node: KeyTree): number =>
  isTest(node) ? 1 : node.of.reduce((sum, part) => sum + testCount(part), 0);

function testOf(test: KeyTest): KeyTree {
  const { keys } = test;
  if (keys.length === 0) return test.kind === "some" ? NEVER : ALWAYS;
  if (keys[0] === -Infinity && keys[1] === Infinity) return test.kind === "some" ? ALWAYS : NEVER;
  return test;
}

/** Tests of one attribute and kind, as one where that is exact: on a list, "some key in A and some in B" is not. */
function mergedTests(kind: "and" | "or", group: readonly KeyTest[]): readonly KeyTree[] {
  const first = group[0]!;
  if (group.length === 1) return group;
  const isList = first.column.start !== undefined;
  if (isList && (kind === "and") === (first.kind === "some")) return group;
  const sets = group.map((test) => test.keys);
  return [testOf({ ...first, keys: isList || kind === "or" ? union(sets) : intersection(sets) })];
}
