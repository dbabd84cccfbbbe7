/** A filter after its values are looked up: a tree of tests on keys, simplified while it is built. */
import { assert } from "../assert.ts";
import type { KeyColumn } from "./key-column.ts";
import { complement, intersection, type KeySet, union } from "./key-set.ts";
import type { Filter, FilterTest } from "./parse-filter.ts";

/**
 * A test on the keys of an item. `some`: at least one key of the item is in the set. `none`: no key of the item is. All columns except
 * lists have exactly one key per item.
 */
export type KeyTest = { readonly kind: "some" | "none"; readonly column: KeyColumn; readonly keys: KeySet };
export type KeyTree = KeyTest | { readonly kind: "and" | "or"; readonly of: readonly KeyTree[] };
/** Tests that must all hold. */
export type Clause = readonly KeyTest[];

export const ALWAYS: KeyTree = { kind: "and", of: [] };
export const NEVER: KeyTree = { kind: "or", of: [] };

export const isTest = (node: KeyTree): node is KeyTest => "column" in node;

/** The tree of a filter. `open` returns the column that a test names; it throws a Problem if there is none. */
export function keyTreeOf(filter: Filter, open: (test: FilterTest) => KeyColumn): KeyTree {
  if (filter.kind === "not") return negate(keyTreeOf(filter.of, open));
  assert(filter.kind !== "referring", "references have values before a filter is compiled");
  if ("attribute" in filter) {
    const column = open(filter);
    return simplifyTest({ kind: "some", column, keys: column.keysOf(filter) });
  }
  const nodes = filter.of.map((part) => keyTreeOf(part, open)); // visits every part, so that every invalid test is found
  return combine(filter.kind, nodes);
}

/** The tree that passes exactly the items that the given tree does not pass. */
export function negate(node: KeyTree): KeyTree {
  if (!isTest(node)) return combine(node.kind === "and" ? "or" : "and", node.of.map(negate));
  if (node.column.start === undefined) return simplifyTest({ ...node, keys: complement(node.keys) });
  return simplifyTest({ ...node, kind: node.kind === "some" ? "none" : "some" });
}

/** One node for several: flattened, without constants, and with tests on the same column merged where that is exact. */
export function combine(kind: "and" | "or", nodes: readonly KeyTree[]): KeyTree {
  const flat = nodes.flatMap((node) => (node.kind === kind ? node.of : [node]));
  const groups = new Map<string, KeyTest[]>(); // tests by kind and column
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
  const merged = [...[...groups.values()].flatMap((group) => mergeTests(kind, group)), ...inner];
  // Inner nodes have the other kind. One without parts is a constant that decides: false in an `and`, true in an `or`.
  const constant = merged.find((node) => !isTest(node) && node.of.length === 0);
  if (constant) return constant;
  return merged.length === 1 ? merged[0]! : { kind, of: merged };
}

/** Limit on the tests of all clauses together, since building more takes too long. */
const CLAUSE_TESTS_MAX = 16_384;
const testsIn = (clauses: readonly Clause[]) => clauses.reduce((sum, { length }) => sum + length, 0);

/**
 * The tree as alternatives (disjunctive normal form): an item passes if it passes one of the clauses. Undefined if that takes more than
 * `clausesMax` clauses, or too many tests. The tests of a clause are on different columns, except on lists.
 */
export function toClauses(node: KeyTree, clausesMax: number): Clause[] | undefined {
  if (isTest(node)) return [[node]];
  if (node.kind === "or") {
    const all: Clause[] = [];
    for (const part of node.of) {
      const clauses = toClauses(part, clausesMax);
      if (clauses === undefined || all.length + clauses.length > clausesMax) return undefined;
      all.push(...clauses);
    }
    return testsIn(all) > CLAUSE_TESTS_MAX ? undefined : all;
  }
  let product = mergeClause(node.of.filter(isTest)); // merged in one step: one by one, a thousand tests took seconds
  for (const part of node.of) {
    if (isTest(part)) continue;
    const clauses = toClauses(part, clausesMax);
    if (clauses === undefined || product.length * clauses.length > clausesMax) return undefined;
    const tests = testsIn(product) * clauses.length + testsIn(clauses) * product.length;
    if (tests > CLAUSE_TESTS_MAX) return undefined;
    product = product.flatMap((left) => clauses.flatMap((right) => mergeClause([...left, ...right])));
  }
  return product;
}

/** The clause of these tests, or no clause if no item can pass them all. */
function mergeClause(tests: Clause): Clause[] {
  const node = combine("and", tests);
  if (isTest(node)) return [[node]];
  return node.kind === "and" ? [node.of.filter(isTest)] : [];
}

export const countTests = (node: KeyTree): number =>
  isTest(node) ? 1 : node.of.reduce((sum, part) => sum + countTests(part), 0);

/** Replaces a test that every item or no item passes by a constant. */
function simplifyTest(test: KeyTest): KeyTree {
  const { keys } = test;
  if (keys.length === 0) return test.kind === "some" ? NEVER : ALWAYS;
  if (keys[0] === -Infinity && keys[1] === Infinity) return test.kind === "some" ? ALWAYS : NEVER;
  return test;
}

/** Merges tests of one column and kind where that is exact. On a list, "some key in A and some key in B" is not one test. */
function mergeTests(kind: "and" | "or", group: readonly KeyTest[]): readonly KeyTree[] {
  const first = group[0]!;
  if (group.length === 1) return group;
  const isList = first.column.start !== undefined;
  if (isList && (kind === "and") === (first.kind === "some")) return group;
  const sets = group.map((test) => test.keys);
  return [simplifyTest({ ...first, keys: isList || kind === "or" ? union(sets) : intersection(sets) })];
}
