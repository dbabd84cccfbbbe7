/**
 * Compiles a filter and a version's attributes into a function that says whether an item passes.
 *
 * The steps, each in a file of this folder:
 *
 *     1. parse      parse-filter.ts     JSON → a tree of two kinds of tests; errors name their place
 *     2. look up    key-column.ts       a test's values → a set of keys (key-set.ts), by a few binary searches;
 *                   item-id-column.ts   the same for item ids
 *     3. simplify   key-tree.ts         `not` moves into the key sets; tests on one column merge
 *     4. plan       this file           test by test, or all clauses at once, or refuse
 *     5. per item   this file           a small tree is evaluated test by test
 *                   clause-table.ts     a large one as alternatives, all at once, at some tens of nanoseconds an item
 *                   key-classifier.ts   both use it to find where an item's key is among the bounds of the key sets
 */
import { notAnAttribute } from "../attribute-values.ts";
import type { AttributeTable } from "../attributes.ts";
import type { Catalog } from "../catalog.ts";
import type { ItemIndex } from "../ids.ts";
import { clauseTable, LIST_NS, meanOver } from "./clause-table.ts";
import { filterProblem } from "./filter-problem.ts";
import { itemIdColumn } from "./item-id-column.ts";
import { createTableBudget, type TableBudget } from "./key-classifier.ts";
import { attributeColumn, type KeyColumn, MISSING_KEY } from "./key-column.ts";
import { hasKey } from "./key-set.ts";
import { countTests, isTest, type KeyTest, type KeyTree, keyTreeOf, negate, toClauses } from "./key-tree.ts";
import { circleName, locationColumn } from "./location-column.ts";
import type { Filter, FilterTest } from "./parse-filter.ts";

export type FilterSource = {
  /** Null when the version has no item attributes. */
  readonly table: AttributeTable | null;
  readonly catalog: Catalog;
  readonly itemIdColumn: string;
  /** Called with each array of catalog size that the compiled filter allocates, so that the caller can free it. */
  readonly onTable?: ((table: ArrayBufferView) => void) | undefined;
};

/** Whether an item passes the filter. */
type IsMatch = (item: ItemIndex) => boolean;

/** Up to this many tests, an item is tested one test after the other, which stops at the first test that decides. */
const FEW_TESTS = 6;
const CLAUSES_MAX = 1024;
/** Limit on the estimated nanoseconds for the whole catalog: 50 ms less a tenth, since estimates may be a tenth too low. */
const NS_MAX = 44e6;
/** Limit on tests × items where a larger tree is evaluated test by test; about 50 ms. */
const TESTS_MAX = 2_000_000;

/**
 * Throws Problem unknown_attribute, filter_type_mismatch or filter_too_large.
 *
 * @param timeFraction The part of the time limit that this filter may take, where a request has several.
 */
export function compileFilter(filter: Filter, source: FilterSource, timeFraction = 1): IsMatch {
  const columns = new Map<string, KeyColumn>();
  const budget = createTableBudget();
  const tree = keyTreeOf(filter, (test) => {
    const name = test.kind === "near" ? circleName(test) : test.attribute;
    const column = columns.get(name) ?? columnOf(test, source, budget);
    columns.set(name, column);
    return column;
  });
  const tests = countTests(tree);
  const { itemCount } = source.catalog;
  const nsMax = timeFraction * NS_MAX;
  if (tests <= FEW_TESTS) {
    const { isMatch, nsAt } = treeEvaluator(tree);
    if (tests === 1 || itemCount * meanOver(itemCount, nsAt) <= nsMax) return isMatch;
  }
  const clauses = toClauses(tree, CLAUSES_MAX);
  // The negated tree may have fewer clauses. Then it is compiled and its answer inverted.
  const opposite = toClauses(negate(tree), Math.min(CLAUSES_MAX, (clauses?.length ?? CLAUSES_MAX + 1) - 1));
  const table = opposite ? clauseTable(opposite, itemCount) : clauses && clauseTable(clauses, itemCount);
  if (table && table.estimateTotalNs() <= nsMax) {
    const { isMatch } = table;
    return opposite ? (item) => !isMatch(item) : isMatch;
  }
  if (tests > FEW_TESTS && tests * itemCount <= timeFraction * TESTS_MAX) return treeEvaluator(tree).isMatch;
  const message =
    `takes too long on ${itemCount} items: test fewer attributes, use $in for several values of one of them, or nest less` +
    (timeFraction < 1 ? ", or send fewer boosts" : "");
  throw filterProblem("filter_too_large", queryPointer(filter) ?? "", message);
}

/** The place of the whole query in the request: the part of its tests' pointers that ends in `/retrieval`. */
const queryPointer = (filter: Filter): string | undefined =>
  "pointer" in filter
    ? /^.*?\/retrieval/.exec(filter.pointer)?.[0]
    : [filter.of].flat().map(queryPointer).find(Boolean);

/** The column that a test names. Throws Problem unknown_attribute. */
function columnOf(test: FilterTest, source: FilterSource, budget: TableBudget): KeyColumn {
  const { table, catalog, onTable } = source;
  const name = test.attribute;
  if (name === source.itemIdColumn) return itemIdColumn(name, catalog, onTable);
  const column = table?.columns.get(name);
  if (column?.type === "Location") return locationColumn(name, column, test.kind === "near" ? test : undefined);
  if (column) return attributeColumn(name, column, budget);
  const known = [source.itemIdColumn, ...(table?.columns.keys() ?? [])];
  throw filterProblem("unknown_attribute", test.pointer, notAnAttribute(name, known));
}

/** A tree that is evaluated test by test, and the estimated nanoseconds to evaluate it for an item. */
type Evaluator = { readonly isMatch: IsMatch; readonly nsAt: (item: ItemIndex) => number };

function treeEvaluator(tree: KeyTree): Evaluator {
  if (isTest(tree)) return testEvaluator(tree);
  const parts = tree.of.toSorted((a, b) => countTests(a) - countTests(b)).map(treeEvaluator);
  const matches = parts.map(({ isMatch }) => isMatch);
  const decisive = tree.kind === "or"; // the result of a part that decides the whole
  return {
    isMatch(item) {
      for (let i = 0; i < matches.length; i++) if (matches[i]!(item) === decisive) return decisive;
      return !decisive;
    },
    nsAt(item) {
      const last = matches.findIndex((isMatch) => isMatch(item) === decisive);
      const evaluated = last < 0 ? parts : parts.slice(0, last + 1);
      return evaluated.reduce((sum, { nsAt }) => sum + nsAt(item), 0);
    },
  };
}

function testEvaluator({ kind, column, keys }: KeyTest): Evaluator {
  const { isInside, nsAt } = column.classifier(keys);
  const isSome = kind === "some";
  const { start } = column;
  if (start === undefined) return { isMatch: isInside, nsAt };
  const hasMissing = hasKey(keys, MISSING_KEY);
  return {
    isMatch(item) {
      const end = start[item + 1]!;
      if (start[item] === end) return hasMissing === isSome;
      for (let at = start[item]!; at < end; at++) if (isInside(at)) return isSome;
      return !isSome;
    },
    nsAt(item) {
      let ns = LIST_NS;
      for (let at = start[item]!; at < start[item + 1]!; at++) ns += nsAt(at);
      return ns;
    },
  };
}
