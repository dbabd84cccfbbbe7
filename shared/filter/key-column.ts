/** How the matcher sees an attribute: values to sets of keys, and an item's keys to the range they lie in. */
import { countBelow, type TableColumn } from "../attributes.ts";
import { bytesAt, compareBytes, countOf, lowerBound, type PackedStrings, utf8Of } from "../packed-strings.ts";
import { shown } from "../parse-request.ts";
import type { Problem } from "../problem.ts";
import { epochSecondsIn, epochSecondsOf } from "./epoch-seconds.ts";
import { classSearch } from "./key-classifier.ts";
import { type KeySet, keysFrom, NO_KEYS, nextUp, union } from "./key-set.ts";
import { type FilterTest, fault, type OrderOperator, type Scalar } from "./parse-filter.ts";

export type KeyColumn = {
  readonly name: string;
  /** Item i's keys are at positions start[i] … start[i + 1] − 1; undefined where every item has one, at its index. */
  readonly start: Uint32Array | undefined;
  /** The keys of the values that pass a test. Throws Problem filter_type_mismatch. */
  keysOf(test: FilterTest): KeySet;
  classifier(bounds: readonly number[]): Classifier;
};

/** Tells how many of the rising bounds are not above a key, its class: odd is inside a key set with these bounds. */
export type Classifier = {
  /** Of the key at a position. */
  classAt(at: number): number;
  /** Whether it is odd. */
  isInside(at: number): boolean;
  /** The same for the keys at positions from … to − 1, into the first places of `classes`. */
  classify(from: number, to: number, classes: Uint32Array): void;
  /** Estimated nanoseconds for the key at a position, among others; in Node.js 24 on an AMD EPYC. */
  nsAt(at: number): number;
};

/** Where the class is looked up, and where it is compared with two bounds. */
const CLASS_NS = 10;
const RANGE_NS = 7;
/** Of an item's list, besides its keys. */
export const LIST_NS = 12;

export const classifierBy = (
  classAt: Classifier["classAt"],
  { nsAt = () => CLASS_NS, isInside = (at) => (classAt(at) & 1) === 1 }: Partial<Classifier> = {},
): Classifier => ({
  classAt,
  isInside,
  nsAt,
  classify(from, to, classes) {
    for (let at = from; at < to; at++) classes[at - from] = classAt(at);
  },
});

/** The key of a missing value, but for numbers stored as they are, where it is −∞. */
export const MISSING_KEY = 0;

/** Bytes that the tables of one query's classifiers may still take; without one, keys are searched for. */
export type TableBudget = { bytesLeft: number };
/** Some thirty tables of an attribute with more than 255 values. */
export const createTableBudget = (): TableBudget => ({ bytesLeft: 8_000_000 });

/** An attribute of the table as a column. */
export function attributeColumn(name: string, column: TableColumn, room = createTableBudget()): KeyColumn {
  const isPlain = "form" in column && column.form === "plain";
  const missing: KeySet = isPlain ? [-Infinity, -Number.MAX_VALUE] : [MISSING_KEY, MISSING_KEY + 1];
  const order = { first: isPlain ? -Number.MAX_VALUE : 1, after: isPlain ? nextUp : (key: number) => key + 1 };
  const place = placeIn(column);
  const placeOf = (test: FilterTest, value: Scalar, i?: number) => {
    const at = place(value);
    if (at === undefined) throw mismatch(test, value, { expected: EXPECTED[column.type], i });
    return at;
  };
  return {
    name,
    start: column.type === "CategoryList" ? column.start : undefined,
    classifier: (bounds) => classifierOf(column, bounds, room),
    keysOf(test) {
      if (test.kind === "compare") {
        if (column.type === "Boolean")
          throw mismatch(test, test.value, { expected: "true or false, which have no order: use $eq" });
        return orderKeys(test.operator, placeOf(test, test.value), order);
      }
      const sets = test.values.map((value, i): KeySet => {
        if (value === null) return missing;
        const { key, isPresent } = placeOf(test, value, i);
        return isPresent ? [key, order.after(key)] : NO_KEYS;
      });
      return union(sets);
    },
  };
}

/** Place of a value among the values of a column: the key it has, or would have if it stood in the column. */
export type Place = { readonly key: number; readonly isPresent: boolean };

/** The keys in an order to a value. `first` is the least key of a value, `after(key)` the least key above. */
export function orderKeys(
  operator: OrderOperator,
  at: Place,
  { first, after }: { readonly first: number; readonly after: (key: number) => number },
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

/** A Problem about a value of the wrong type; `i` is its place in a list of values. */
export function mismatch(
  test: FilterTest,
  value: Scalar,
  { expected, i = 0 }: { readonly expected: string; readonly i?: number | undefined },
): Problem {
  const pointer = test.pointer + test.path + (/\$n?in$/.test(test.path) ? `/${i}` : "");
  const hint = expected === "text" ? `; as text it is ${JSON.stringify(String(value))}` : "";
  const type = `the type of ${JSON.stringify(test.attribute)}`;
  const message = `is not of ${type}: expected ${expected}, found ${shown(value)}`;
  return fault("filter_type_mismatch", pointer, message + hint);
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
  return (value) => {
    const sent = column.type === "Timestamp" ? secondsOf(value) : value;
    return typeof sent === "number" ? numberPlace(column, sent + 0) : undefined; // + 0 turns −0 into 0
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
  if (column.form === "coded") {
    const at = countBelow(column.values, value);
    return { key: at + 1, isPresent: column.values[at] === value };
  }
  const isPresent = Number.isInteger(value) && value >= column.base;
  return { key: Math.max(1, Math.ceil(value) - column.base + 1), isPresent };
}

function classifierOf(
  { keys: column, ...rest }: TableColumn,
  bounds: readonly number[],
  room: TableBudget,
): Classifier {
  if (column instanceof Float32Array || column instanceof Float64Array) return floatClassifier(column, bounds);
  if (bounds.length === 2) {
    const [from, to] = bounds as [number, number];
    return classifierBy((at) => (column[at]! < from ? 0 : column[at]! < to ? 1 : 2), {
      isInside: (at) => column[at]! >= from && column[at]! < to,
      nsAt: () => RANGE_NS,
    });
  }
  const keyCount = keyCountOf(column, rest);
  if (4 * keyCount > room.bytesLeft) return searched((at) => column[at]!, bounds);
  const classOf = new Uint32Array(keyCount);
  room.bytesLeft -= classOf.byteLength;
  for (const [i, bound] of bounds.entries())
    classOf.fill(i + 1, Math.max(0, bound), Math.max(0, bounds[i + 1] ?? Infinity));
  return {
    ...classifierBy((at) => classOf[column[at]!]!, { isInside: (at) => (classOf[column[at]!]! & 1) === 1 }),
    classify(from, to, classes) {
      for (let at = from; at < to; at++) classes[at - from] = classOf[column[at]!]!;
    },
  };
}

/**
 * Of numbers that stand as they are; missing ones, NaN, compare with nothing and count as −∞. Apart from whole keys: a loop that has
 * met every kind of array is slow.
 */
function floatClassifier(column: Float32Array | Float64Array, bounds: readonly number[]): Classifier {
  if (bounds.length !== 2) return searched((at) => (Number.isNaN(column[at]!) ? -Infinity : column[at]!), bounds);
  const [from, to] = bounds as [number, number];
  const missing = from === -Infinity ? 1 : 0;
  return classifierBy((at) => (column[at]! >= to ? 2 : column[at]! >= from ? 1 : missing), {
    isInside: missing ? (at) => !(column[at]! >= to) : (at) => column[at]! >= from && column[at]! < to,
    nsAt: () => RANGE_NS,
  });
}

/** How many keys there can be, that of a missing value included. */
function keyCountOf({ BYTES_PER_ELEMENT }: TableColumn["keys"], { dictionary, values }: Distinct): number {
  if (dictionary) return 1 + countOf(dictionary);
  return values ? 1 + values.length : 2 ** (8 * BYTES_PER_ELEMENT);
}
type Distinct = Partial<Record<"dictionary", PackedStrings> & Record<"values", Float64Array>> & {
  readonly type: string;
};

/** Of a search, and of each comparison. */
const SEARCH_NS = 30;
const COMPARED_NS = 7;

function searched(keyAt: (at: number) => number, bounds: readonly number[]): Classifier {
  const { classOf, boundsNear } = classSearch(bounds);
  const nsAt = (at: number) => SEARCH_NS + COMPARED_NS * Math.log2(1 + boundsNear(keyAt(at)));
  return classifierBy((at) => classOf(keyAt(at)), { nsAt });
}
