/** An item attribute as the filter compiler sees it: values of a filter become sets of keys, and keys of items become classes. */
import { countBelow, type KeyedColumn } from "../attributes.ts";
import { bytesAt, compareBytes, countOf, lowerBound, type PackedStrings, utf8Of } from "../packed-strings.ts";
import { shown } from "../parse-request.ts";
import type { Problem } from "../problem.ts";
import { epochSecondsIn, epochSecondsOf } from "./epoch-seconds.ts";
import { filterProblem } from "./filter-problem.ts";
import { classifierOf, createTableBudget, type KeyClassifier } from "./key-classifier.ts";
import { type KeySet, keysFrom, NO_KEYS, nextUp, union } from "./key-set.ts";
import type { FilterTest, OrderOperator } from "./parse-filter.ts";
import type { Scalar } from "./references.ts";

export type KeyColumn = {
  readonly name: string;
  /** Item i's keys are at positions start[i] … start[i + 1] − 1. Undefined where every item has one key, at its own index. */
  readonly start: Uint32Array | undefined;
  /** The keys of the values that pass a test. Throws Problem filter_type_mismatch. */
  keysOf(test: FilterTest): KeySet;
  classifier(bounds: readonly number[]): KeyClassifier;
};

/** The key of a missing value, except in columns of numbers stored as they are, where it is −∞. */
export const MISSING_KEY = 0;

export function attributeColumn(name: string, column: KeyedColumn, budget = createTableBudget()): KeyColumn {
  const isPlain = "form" in column && column.form === "plain";
  const missing: KeySet = isPlain ? [-Infinity, -Number.MAX_VALUE] : [MISSING_KEY, MISSING_KEY + 1];
  const order = { first: isPlain ? -Number.MAX_VALUE : 1, after: isPlain ? nextUp : (key: number) => key + 1 };
  const findPlace = placeFinder(column);
  const placeOf = (test: FilterTest, value: Scalar, i?: number) => {
    const place = findPlace(value);
    if (place === undefined) throw typeMismatch(test, value, { expected: EXPECTED[column.type], i });
    return place;
  };
  return {
    name,
    start: column.type === "CategoryList" ? column.start : undefined,
    classifier: (bounds) => classifierOf(column, bounds, budget),
    keysOf(test) {
      if (test.kind === "near") throw notAPlace(test, column.type);
      if (test.kind === "compare") {
        if (Number.isNaN(test.value)) return NO_KEYS;
        if (column.type === "Boolean")
          throw typeMismatch(test, test.value, { expected: "true or false, which have no order: use $eq" });
        return orderKeys(test.operator, placeOf(test, test.value), order);
      }
      const sets = test.values.map((value, i): KeySet => {
        if (value === null) return missing;
        if (Number.isNaN(value)) return NO_KEYS;
        const { key, isPresent } = placeOf(test, value, i);
        return isPresent ? [key, order.after(key)] : NO_KEYS;
      });
      return union(sets);
    },
  };
}

/** The key that a value has in a column or, if the column does not have the value, the key that the next larger value has. */
export type Place = { readonly key: number; readonly isPresent: boolean };

/** The keys on one side of a value. `first` is the smallest key of any value, `after(key)` the smallest key above a key. */
export function orderKeys(
  operator: OrderOperator,
  place: Place,
  { first, after }: { readonly first: number; readonly after: (key: number) => number },
): KeySet {
  const above = place.isPresent ? after(place.key) : place.key;
  switch (operator) {
    case "$gte":
      return keysFrom(place.key, Infinity);
    case "$gt":
      return keysFrom(above, Infinity);
    case "$lt":
      return keysFrom(first, place.key);
    case "$lte":
      return keysFrom(first, above);
  }
}

/** The Problem for a value of the wrong type. `i` is the value's position in a list of values. */
export function typeMismatch(
  test: FilterTest,
  value: Scalar,
  { expected, i = 0 }: { readonly expected: string; readonly i?: number | undefined },
): Problem {
  const pointer = test.pointer + test.path + (/\$n?in$/.test(test.path) ? `/${i}` : "");
  const hint = expected === "text" ? `; as text it is ${JSON.stringify(String(value))}` : "";
  const type = `the type of ${JSON.stringify(test.attribute)}`;
  const message = `is not of ${type}: expected ${expected}, found ${shown(value)}`;
  return filterProblem("filter_type_mismatch", pointer, message + hint);
}

/** The Problem for a circle that is tested on something other than places. */
export const notAPlace = ({ attribute, pointer, path }: FilterTest, type: string): Problem =>
  filterProblem("filter_type_mismatch", pointer + path, `needs places; ${JSON.stringify(attribute)} is ${type}`);

/** How error texts describe the values of a column type. */
const EXPECTED = {
  Boolean: "true or false",
  Numerical: "a number",
  Timestamp: "a time: RFC 3339 such as 2024-05-01T12:00:00Z, or epoch seconds or milliseconds",
  Category: "text",
  Text: "text",
  CategoryList: "text",
} as const;

/** A function that finds a value's place in the column. It returns undefined for a value of another type. */
function placeFinder(column: KeyedColumn): (value: Scalar) => Place | undefined {
  if (column.type === "Boolean")
    return (value) => (typeof value === "boolean" ? { key: value ? 2 : 1, isPresent: true } : undefined);
  if ("dictionary" in column)
    return (value) => (typeof value === "string" ? textPlace(column.dictionary, value) : undefined);
  return (value) => {
    const number = column.type === "Timestamp" ? secondsOf(value) : value;
    return typeof number === "number" ? numberPlace(column, number + 0) : undefined; // + 0 turns −0 into 0
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

function numberPlace(column: Extract<KeyedColumn, { form: string }>, value: number): Place {
  if (column.form === "plain") return { key: value, isPresent: true };
  if (column.form === "coded") {
    const at = countBelow(column.values, value);
    return { key: at + 1, isPresent: column.values[at] === value };
  }
  const isPresent = Number.isInteger(value) && value >= column.base;
  return { key: Math.max(1, Math.ceil(value) - column.base + 1), isPresent };
}
