/**
 * A checked retrieval query and a version's attributes, made into one question per item.
 *
 * Every test on an attribute becomes a set of keys (shared/key-set.ts), found by a few binary searches. Tests on the same
 * attribute that stand in one `and` or one `or` become a single set, and `not` is pushed down into the sets; what is left
 * is a small tree with at most one test per attribute and node. Asking it about an item reads one key per test.
 */

import type { ItemIndex } from "./ids.ts";
import { complement, intersection, type KeySet, union } from "./key-set.ts";
import { type ColumnSource, columnOf, type MatchColumn } from "./match-column.ts";
import type { RetrievalQuery, RetrievalTest } from "./retrieval.ts";

export type MatcherSource = ColumnSource;

/** Whether an item passes. */
type IsMatch = (item: ItemIndex) => boolean;

/**
 * `keys`: some key of the item is in the set (most attributes have exactly one key per item). `no-key`: none is.
 */
type Node =
  | { readonly kind: "keys" | "no-key"; readonly column: MatchColumn; readonly keys: KeySet }
  | { readonly kind: "and" | "or"; readonly of: readonly Node[] };

const ALWAYS: Node = { kind: "and", of: [] };
const NEVER: Node = { kind: "or", of: [] };

/** Throws Problem unknown_attribute or filter_type_mismatch. */
export function matcherOf(query: RetrievalQuery, source: MatcherSource): IsMatch {
  const columns = new Map<string, MatchColumn>();
  const open = (test: RetrievalTest) => {
    const column = columns.get(test.attribute) ?? columnOf(test, source);
    columns.set(test.attribute, column);
    return column;
  };
  return isMatchOf(nodeOf(query, { isNegated: false, open }));
}

type Context = { readonly isNegated: boolean; readonly open: (test: RetrievalTest) => MatchColumn };

function nodeOf(query: RetrievalQuery, context: Context): Node {
  const { isNegated, open } = context;
  if (query.kind === "not") return nodeOf(query.of, { isNegated: !isNegated, open });
  if (!("attribute" in query)) {
    const nodes = query.of.map((part) => nodeOf(part, context)); // every part, so that every mistake is found
    return (query.kind === "and") === isNegated ? either(nodes) : both(nodes);
  }
  const column = open(query);
  const keys = column.keysOf(query);
  if (!isNegated) return testOf("keys", column, keys);
  return column.isList ? testOf("no-key", column, keys) : testOf("keys", column, complement(keys));
}

function testOf(kind: "keys" | "no-key", column: MatchColumn, keys: KeySet): Node {
  if (keys.length === 0) return kind === "keys" ? NEVER : ALWAYS;
  if (keys[0] === -Infinity && keys[1] === Infinity) return kind === "keys" ? ALWAYS : NEVER;
  return { kind, column, keys };
}

const both = (nodes: readonly Node[]) => joined("and", nodes);
const either = (nodes: readonly Node[]) => joined("or", nodes);

/** One node for several: flat, without constants, and with one test per attribute where tests can be merged. */
function joined(kind: "and" | "or", nodes: readonly Node[]): Node {
  const flat = nodes.flatMap((node) => (node.kind === kind ? node.of : [node]));
  const groups = new Map<unknown, Node[]>();
  for (const node of flat) {
    const group = "column" in node ? `${node.kind} ${node.column.name}` : node;
    groups.set(group, [...(groups.get(group) ?? []), node]);
  }
  const merged = [...groups.values()].flatMap((group) => mergedTests(kind, group));
  // An inner node of the other kind without parts is a constant that decides: false in an `and`, true in an `or`.
  const decided = merged.find((node) => !("column" in node) && node.kind !== kind && node.of.length === 0);
  if (decided) return decided;
  const parts = merged.filter((node) => "column" in node || node.kind !== kind);
  return parts.length === 1 ? parts[0]! : { kind, of: parts };
}

/** Tests of one attribute and kind, as one where that is exact: on a list, "some key in A and some in B" is not. */
function mergedTests(kind: "and" | "or", group: readonly Node[]): readonly Node[] {
  const first = group[0]!;
  if (group.length === 1 || !("column" in first)) return group;
  const sets = group.flatMap((node) => ("column" in node ? [node.keys] : []));
  if (first.column.isList && (kind === "and") === (first.kind === "keys")) return group;
  const isUnion = first.column.isList ? true : kind === "or";
  return [testOf(first.kind as "keys" | "no-key", first.column, isUnion ? union(sets) : intersection(sets))];
}

function isMatchOf(node: Node): IsMatch {
  if ("column" in node) {
    const hasKeyIn = node.column.tester(node.keys);
    return node.kind === "keys" ? hasKeyIn : (item) => !hasKeyIn(item);
  }
  const parts = [...node.of].sort((a, b) => Number("of" in a) - Number("of" in b)).map(isMatchOf); // tests first
  if (node.kind === "and")
    return (item) => {
      for (let i = 0; i < parts.length; i++) if (!parts[i]!(item)) return false;
      return true;
    };
  return (item) => {
    for (let i = 0; i < parts.length; i++) if (parts[i]!(item)) return true;
    return false;
  };
}
