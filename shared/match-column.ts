/** How the matcher sees an attribute: values to sets of keys, and an item's keys against a set. */
import { type AttributeTable, countBelow, type TableColumn } from "./attributes.ts";
import type { Catalog } from "./catalog.ts";
import type { ItemId, ItemIndex } from "./ids.ts";
import { epochSecondsIn, epochSecondsOf } from "./instant.ts";
import { complement, hasKey, type KeySet, keysFrom, NO_KEYS, nextUp, rangesOf, union } from "./key-set.ts";
import { didYouMean } from "./nearest-name.ts";
import { bytesAt, compareBytes, countOf, lowerBound, type PackedStrings, utf8Of } from "./packed-strings.ts";
import { shown } from "./parse-request.ts";
import type { Problem } from "./problem.ts";
import { fault, type OrderOperator, type RetrievalTest, type Scalar } from "./retrieval.ts";

export type ColumnSource = {
  /** Null when the version has no item attributes. */
  readonly table: AttributeTable | null;
  readonly catalog: Catalog;
  readonly itemIdColumn: string;
};

export type MatchColumn = {
  readonly name: string;
  /** Whether an item may have several keys. */
  readonly isList: boolean;
  /** The keys of the values that pass a test. Throws Problem filter_type_mismatch. */
  keysOf(test: RetrievalTest): KeySet;
  /** Whether some key of an item is in the set. */
  tester(keys: KeySet): (item: ItemIndex) => boolean;
};

/** The column that a test names. Throws Problem unknown_attribute. */
export function columnOf(test: RetrievalTest, source: ColumnSource): MatchColumn {
  const { table, catalog, itemIdColumn } = source;
  const name = test.attribute;
  if (name === itemIdColumn) return idColumn(name, catalog);
  const column = table?.columns.get(name);
  if (column) return attributeColumn(name, column);
  const known = [itemIdColumn, ...(table?.columns.keys() ?? [])];
  const names = known.slice(0, 50).join(", ");
  throw fault("unknown_attribute", test.pointer, `is not an attribute${didYouMean(name, known)}; known are ${names}`);
}

/** Place of a value among the values of a column: the key it has, or would have if it stood in the column. */
type Place = { readonly key: number; readonly isPresent: boolean };

function attributeColumn(name: string, column: TableColumn): MatchColumn {
  const isPlain = "form" in column && column.form === "plain";
  const missing = isPlain ? [-Infinity, -Number.MAX_VALUE] : [0, 1];
  const first = isPlain ? -Number.MAX_VALUE : 1;
  const place = placeIn(column);
  return {
    name,
    isList: column.type === "CategoryList",
    tester: (keys) => testerOf(column, keys),
    keysOf(test) {
      if (test.kind === "compare") {
        if (column.type === "Boolean") throw mismatch(test, test.value, "true or false, which have no order: use $eq");
        const at = place(test.value);
        if (at === undefined) throw mismatch(test, test.value, EXPECTED[column.type]);
        return orderKeys(test.operator, at, { first, after: isPlain ? nextUp : (key) => key + 1 });
      }
      const sets = test.values.map((value, i): KeySet => {
        if (value === null) return missing;
        const at = place(value);
        if (at === undefined) throw mismatch(test, value, EXPECTED[column.type], i);
        return at.isPresent ? [at.key, isPlain ? nextUp(at.key) : at.key + 1] : NO_KEYS;
      });
      return union(sets);
    },
  };
}

/** A Problem about a value of the wrong type; `i` is its place in a list of values. */
function mismatch(test: RetrievalTest, value: Scalar, expected: string, i = 0): Problem {
  const pointer = test.pointer + test.path + (/\$n?in$/.test(test.path) ? `/${i}` : "");
  const hint = expected === "text" ? `; as text it is ${JSON.stringify(String(value))}` : "";
  const message = `is not of the type of ${JSON.stringify(test.attribute)}: expected ${expected}, found ${shown(value)}`;
  return fault("filter_type_mismatch", pointer, message + hint);
}

/** The keys in an order to a value. `after(key)` is the least key above. */
function orderKeys(
  operator: OrderOperator,
  at: Place,
  { first, after }: { first: number; after: (key: number) => number },
): KeySet {
  const above = at.isPresent ? after(at.key) : at.key;
  switch (operator) {
    case "$gte":
      return keysFrom(at.key, Infinity);
    case "$gt":
      return keysFrom(above, Infinity);
    case "$lt":
      return keysFrom(first, at.key);
    case "$lte":
      return keysFrom(first, above);
  }
}

/** What a column's values look like in a query. */
const EXPECTED = {
  Boolean: "true or false",
  Numerical: "a number",
  Timestamp: "a time: RFC 3339 such as 2024-05-01T12:00:00Z, or epoch seconds or milliseconds",
  Category: "text",
  Text: "text",
  CategoryList: "text",
} as const;

/** Finds a value's place in a column; undefined for a value of another type. */
function placeIn(column: TableColumn): (value: Scalar) => Place | undefined {
  if (column.type === "Boolean")
    return (value) => (typeof value === "boolean" ? { key: value ? 2 : 1, isPresent: true } : undefined);
  if ("dictionary" in column)
    return (value) => (typeof value === "string" ? textPlace(column.dictionary, value) : undefined);
  const { type } = column;
  return (value) => {
    const sent = type === "Timestamp" ? secondsOf(value) : value;
    return typeof sent === "number" ? numberPlace(column, sent + 0) : undefined;
  };
}

function secondsOf(value: Scalar): number | undefined {
  if (typeof value === "number") return epochSecondsOf(value);
  return typeof value === "string" ? epochSecondsIn(value) : undefined;
}

function textPlace(dictionary: PackedStrings, value: string): Place {
  const text = utf8Of(value);
  const at = lowerBound(dictionary, text);
  const isPresent = at < countOf(dictionary) && compareBytes(bytesAt(dictionary, at), text) === 0;
  return { key: at + 1, isPresent };
}

function numberPlace(column: Extract<TableColumn, { form: string }>, value: number): Place {
  if (column.form === "plain") return { key: value, isPresent: true };
  if (column.form === "based")
    return {
      key: Math.max(1, Math.ceil(value) - column.base + 1),
      isPresent: Number.isInteger(value) && value >= column.base,
    };
  const at = countBelow(column.values, value);
  return { key: at + 1, isPresent: column.values[at] === value };
}

/** The item ids as a column: an item's key is its place in the order of ids. */
function idColumn(name: string, catalog: Catalog): MatchColumn {
  return {
    name,
    isList: false,
    keysOf(test) {
      if (test.kind === "in")
        return union(
          test.values.map((value, i): KeySet => {
            if (value === null) return NO_KEYS; // no item is without an id
            if (!isIdLike(value)) throw mismatch(test, value, EXPECTED_ID, i);
            const id = String(value) as ItemId;
            if (catalog.indexOf(id) === undefined) return NO_KEYS;
            const key = catalog.countBelow(id);
            return [key, key + 1];
          }),
        );
      return orderKeys(test.operator, idPlace(test, catalog), { first: 0, after: (key) => key + 1 });
    },
    tester: (keys) => idTester(catalog, keys),
  };
}

const EXPECTED_ID = "an item id: text, or an integer within ±(2^53 − 1); send larger ones as text";

const isIdLike = (value: Scalar): value is string | number =>
  typeof value === "string" || (typeof value === "number" && Number.isSafeInteger(value));

function idPlace(test: Extract<RetrievalTest, { kind: "compare" }>, catalog: Catalog): Place {
  const { value } = test;
  const isInteger = catalog.itemIdType === "integer";
  if (isInteger && typeof value === "string" && !/^(0|-?[1-9]\d*)$/.test(value))
    throw mismatch(test, value, "an integer");
  if (typeof value === "number" && !Number.isSafeInteger(value)) throw mismatch(test, value, EXPECTED_ID);
  const id = String(value) as ItemId;
  return { key: catalog.countBelow(id), isPresent: catalog.indexOf(id) !== undefined };
}

const SMALL = 4096; // items that a Set holds; beyond, a bitmap of the catalog is smaller and faster

/** Marks the items whose ids lie in the ranges, or those that lie outside, whichever are fewer. */
function idTester({ order, itemCount }: Catalog, keys: KeySet): (item: ItemIndex) => boolean {
  const within = (set: KeySet) =>
    rangesOf(set).map(([from, to]) => order.subarray(Math.max(0, from), Math.min(itemCount, to)));
  const sizeOf = (runs: readonly Uint32Array[]) => runs.reduce((size, run) => size + run.length, 0);
  const inside = within(keys);
  const outside = within(complement(keys));
  const isInside = sizeOf(inside) <= sizeOf(outside);
  const runs = isInside ? inside : outside;
  if (sizeOf(runs) <= SMALL) {
    const items = new Set(runs.flatMap((run) => [...run]));
    return (item) => items.has(item) === isInside;
  }
  const bitmap = new Uint8Array(itemCount); // 1 for every item of the runs
  for (const run of runs) for (const item of run) bitmap[item] = 1;
  const wanted = isInside ? 1 : 0;
  return (item) => bitmap[item] === wanted;
}

const FLAGS_MAX = 65_536; // keys for which a table of flags is made

function testerOf(column: TableColumn, keys: KeySet): (item: ItemIndex) => boolean {
  const has = keyTester(keys, column.keys);
  if (column.type !== "CategoryList") return (item) => has(item);
  const { start } = column;
  const hasMissing = hasKey(keys, 0);
  return (item) => {
    const end = start[item + 1]!;
    if (start[item] === end) return hasMissing;
    for (let at = start[item]!; at < end; at++) if (has(at)) return true;
    return false;
  };
}

/** Whether the key at a position is in the set. */
function keyTester(keys: KeySet, column: TableColumn["keys"]): (at: number) => boolean {
  if (column instanceof Float32Array || column instanceof Float64Array) {
    const bounds = Float64Array.from(keys);
    return (at) => hasKey(bounds, Number.isNaN(column[at]!) ? -Infinity : column[at]!);
  }
  const [from, to] = [keys[0] ?? 0, keys[1] ?? 0];
  if (keys.length <= 2) return (at) => column[at]! >= from && column[at]! < to;
  if (column instanceof Uint32Array) {
    const bounds = Float64Array.from(keys);
    return (at) => hasKey(bounds, column[at]!);
  }
  const flags = new Uint8Array(column instanceof Uint8Array ? 256 : FLAGS_MAX);
  for (const [low, high] of rangesOf(keys)) flags.fill(1, Math.max(0, low), Math.min(flags.length, high));
  return (at) => flags[column[at]!] === 1;
}
