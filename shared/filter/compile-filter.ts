/**
 * A checked retrieval query and a version's attributes, made into one question per item.
 *
 * Every test on an attribute becomes a set of keys (shared/key-set.ts), found by a few binary searches. Tests on the
 * same attribute that stand in one `and` or one `or` become a single set, and `not` is pushed down into the sets. A
 * small tree is asked as it is, test by test; a large one is rewritten as alternatives that are asked all at once
 * (shared/clause-table.ts), at some tens of nanoseconds an item; one that would take too long on all is refused.
 */
import type { AttributeTable } from "../attributes.ts";
import type { Catalog } from "../catalog.ts";
import type { ItemIndex } from "../ids.ts";
import { didYouMean } from "../nearest-name.ts";
import { Problem } from "../problem.ts";
import { clauseTable, meanOver } from "./clause-table.ts";
import { idColumn } from "./item-id-column.ts";
import {
  attributeColumn,
  createTableBudget,
  type KeyColumn,
  LIST_NS,
  MISSING_KEY,
  type TableBudget,
} from "./key-column.ts";
import { hasKey } from "./key-set.ts";
import { clausesOf, isTest, type KeyTest, type KeyTree, keyTreeOf, negated, testCount } from "./key-tree.ts";
import { type Filter, type FilterTest, fault } from "./parse-filter.ts";

export type FilterSource = {
  /** Null when the version has no item attributes. */
  readonly table: AttributeTable | null;
  readonly catalog: Catalog;
  readonly itemIdColumn: string;
  /** Told of each array of the catalog's size that the answer works with. */
  readonly onTable?: ((table: ArrayBufferView) => void) | undefined;
};

/** Whether an item passes. */
type IsMatch = (item: ItemIndex) => boolean;

const FEW_TESTS = 6; // asked one by one, which stops at the first that decides
const CLAUSES_MAX = 1024;
/** Estimated nanoseconds for asking the whole catalog by clauses: 50 ms, since estimates may be a tenth too low. */
const NS_MAX = 44e6;
/** Tests of one by one asking over the whole catalog; about 50 ms. */
const TESTS_MAX = 2_000_000;
const NAMES_SHOWN = 50;

/** Throws Problem unknown_attribute, filter_type_mismatch or filter_too_large. */
export function compileFilter(query: Filter, source: FilterSource): IsMatch {
  const columns = new Map<string, KeyColumn>();
  const room = createTableBudget();
  const node = keyTreeOf(query, (test) => {
    const column = columns.get(test.attribute) ?? columnOf(test, source, room);
    columns.set(test.attribute, column);
    return column;
  });
  const tests = testCount(node);
  const { itemCount } = source.catalog;
  if (tests <= FEW_TESTS) {
    const { isMatch, nsAt } = askedOf(node);
    if (tests === 1 || itemCount * meanOver(itemCount, nsAt) <= NS_MAX) return isMatch;
  }
  const clauses = clausesOf(node, CLAUSES_MAX);
  const opposite = clausesOf(negated(node), Math.min(CLAUSES_MAX, (clauses?.length ?? CLAUSES_MAX + 1) - 1));
  const table = opposite ? clauseTable(opposite, itemCount) : clauses && clauseTable(clauses, itemCount);
  if (table && table.totalNs() <= NS_MAX) {
    const { isMatch } = table;
    return opposite ? (item) => !isMatch(item) : isMatch;
  }
  if (tests > FEW_TESTS && tests * itemCount <= TESTS_MAX) return askedOf(node).isMatch;
  const detail =
    `the retrieval query takes too long on ${itemCount} items: ask fewer attributes, ` +
    `use $in for several values of one of them, or nest less`;
  throw new Problem("filter_too_large", detail);
}

/** The column that a test names. Throws Problem unknown_attribute. */
function columnOf(test: FilterTest, source: FilterSource, room: TableBudget): KeyColumn {
  const { table, catalog, itemIdColumn, onTable } = source;
  const name = test.attribute;
  if (name === itemIdColumn) return idColumn(name, catalog, onTable);
  const column = table?.columns.get(name);
  if (column) return attributeColumn(name, column, room);
  const known = [itemIdColumn, ...(table?.columns.keys() ?? [])];
  const names = known.slice(0, NAMES_SHOWN).join(", ");
  throw fault("unknown_attribute", test.pointer, `is not an attribute${didYouMean(name, known)}; known are ${names}`);
}

/** A question that is asked test by test, and the estimated nanoseconds of asking an item. */
type Asked = { readonly isMatch: IsMatch; readonly nsAt: (item: ItemIndex) => number };

function askedOf(node: KeyTree): Asked {
  if (isTest(node)) return testerOf(node);
  const parts = node.of.toSorted((a, b) => testCount(a) - testCount(b)).map(askedOf);
  const questions = parts.map(({ isMatch }) => isMatch);
  const decides = node.kind === "or"; // the answer after which no other part is asked
  return {
    isMatch(item) {
      for (let i = 0; i < questions.length; i++) if (questions[i]!(item) === decides) return decides;
      return !decides;
    },
    nsAt(item) {
      const last = questions.findIndex((isMatch) => isMatch(item) === decides);
      const asked = last < 0 ? parts : parts.slice(0, last + 1);
      return asked.reduce((sum, { nsAt }) => sum + nsAt(item), 0);
    },
  };
}

/** The class of a key among the bounds of a set is odd inside the set. */
function testerOf({ kind, column, keys }: KeyTest): Asked {
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
