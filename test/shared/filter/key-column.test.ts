import { describe, expect, test } from "vitest";
import { decodeAttributes, encodeAttributes, type KeyedColumn } from "../../../shared/attributes.ts";
import { createTableBudget } from "../../../shared/filter/key-classifier.ts";
import { attributeColumn, orderKeys, typeMismatch } from "../../../shared/filter/key-column.ts";
import { hasKey } from "../../../shared/filter/key-set.ts";
import type { FilterTest } from "../../../shared/filter/parse-filter.ts";

/** A column of numbers, in the stored form that the writer chooses for them. */
function open(values: readonly number[]) {
  const bytes = encodeAttributes([{ name: "n", type: "Numerical", values: Float64Array.from(values) }], values.length);
  const stored = decodeAttributes(bytes).columns.get("n") as KeyedColumn;
  return { column: attributeColumn("n", stored), form: "form" in stored ? stored.form : undefined };
}

const based = [5, 6, 9, Number.NaN, 7];
const coded = [0.5, 0.25, 0.5, Number.NaN, 1e300, ...Array.from({ length: 300 }, (_, i) => (i % 3) + 0.1)];
const plain = [
  ...Array.from({ length: 300 }, (_, i) => i + 0.7),
  Number.MAX_VALUE,
  -Number.MAX_VALUE,
  0,
  Number.NaN,
  Number.MIN_VALUE,
  0.1,
];
const BOUNDS = [-1e308, -Number.MIN_VALUE, 0, 0.1, 0.25, 0.3, 5, 5.5, 6, 9, 10, 1e300, Number.MAX_VALUE];

describe.each([
  ["based", based],
  ["coded", coded],
  ["plain", plain],
])("%s numbers", (form, values) => {
  const { column, form: found } = open(values);
  const test1 = (change: object) => ({ attribute: "n", pointer: "/n", path: "", ...change }) as FilterTest;
  const passing = (change: object) => {
    const keys = column.keysOf(test1(change));
    const { classAt } = column.classifier(keys);
    return values.filter((_, at) => classAt(at) % 2 === 1);
  };
  const ORDERS = {
    $gt: (x: number, y: number) => x > y,
    $gte: (x: number, y: number) => x >= y,
    $lt: (x: number, y: number) => x < y,
    $lte: (x: number, y: number) => x <= y,
  };
  test("take this form", () => expect(found).toBe(form));
  test.each(Object.entries(ORDERS))("%s, at every bound", (operator, isRight) => {
    for (const value of [...BOUNDS, ...values.filter(Number.isFinite)])
      expect(passing({ kind: "compare", operator, value })).toEqual(values.filter((x) => isRight(x, value)));
  });
  test("$in, at every value and for missing ones", () => {
    for (const value of [...BOUNDS, ...values.filter(Number.isFinite)])
      expect(passing({ kind: "in", values: [value] })).toEqual(values.filter((x) => x === value));
    expect(passing({ kind: "in", values: [null] })).toEqual([Number.NaN]);
  });
  test("a class is the number of bounds at or below the key", () => {
    const bounds = [-Infinity, 1, 2, 5, 8];
    const { classAt } = column.classifier(bounds);
    for (const at of values.keys())
      for (const [i, from] of bounds.entries()) {
        const isInside = column.classifier([from, bounds[i + 1] ?? Infinity]).classAt(at) === 1;
        expect(classAt(at) === i + 1).toBe(isInside);
      }
  });
});

test("classes are the same without budget for a table, and a filter's tables stay within the budget", () => {
  const keys = Uint16Array.from({ length: 1000 }, (_, i) => (i * 61) % 1000);
  const budget = createTableBudget();
  const column = attributeColumn("n", { type: "Numerical", form: "based", keys, base: 0 }, budget);
  const bounds = [1, 2, 300, 500, 501, 999];
  const tableBytes = 4 * 2 ** 16;
  const classesWith = (bytesLeft: number) => {
    budget.bytesLeft = bytesLeft;
    const { classAt } = column.classifier(bounds);
    const classes = Array.from(keys, (_, at) => classAt(at));
    return { classes, taken: bytesLeft - budget.bytesLeft };
  };
  expect(classesWith(tableBytes).taken).toBe(tableBytes);
  expect(classesWith(tableBytes - 1)).toEqual({ classes: classesWith(tableBytes).classes, taken: 0 });
  expect(createTableBudget().bytesLeft).toBeLessThan(10_000_000);
});

test("a strict comparison leaves out the value itself, if the column has it", () => {
  const order = { first: 1, after: (key: number) => key + 1 };
  const keys = (operator: "$gt" | "$gte" | "$lt" | "$lte", isPresent: boolean) =>
    [0, 1, 2, 3].filter((key) => hasKey(orderKeys(operator, { key: 2, isPresent }, order), key));
  expect(keys("$gt", true)).toEqual([3]);
  expect(keys("$gte", true)).toEqual([2, 3]);
  expect(keys("$lt", true)).toEqual([1]);
  expect(keys("$lte", true)).toEqual([1, 2]);
  expect(keys("$gt", false)).toEqual([2, 3]);
  expect(keys("$lte", false)).toEqual([1]);
});

test("a mismatch names the attribute, the place in a list, and what was expected", () => {
  const sent = { kind: "in", attribute: "n", values: [1], pointer: "/r/n", path: "/$in" } as const;
  const problem = typeMismatch(sent, "x", { expected: "a number", i: 3 });
  expect(problem.code).toBe("filter_type_mismatch");
  expect(problem.errors[0]!.pointer).toBe("/r/n/$in/3");
  expect(problem.message).toContain('the type of "n": expected a number, found "x"');
});

test.each([
  ["8 bits", 200, 1],
  ["16 bits", 40_000, 2],
  ["32 bits", 3_000_000, 4],
])("keys of %s are classified, by few and by many bounds", (_, most, bytes) => {
  const values = [0, 1, most / 2, most - 1, most, Number.NaN];
  const stored = decodeAttributes(
    encodeAttributes([{ name: "n", type: "Numerical", values: Float64Array.from(values) }], values.length),
  ).columns.get("n") as KeyedColumn;
  expect(stored.keys.BYTES_PER_ELEMENT).toBe(bytes);
  const column = attributeColumn("n", stored);
  const keysOf = (wanted: (number | null)[]) =>
    column.keysOf({ kind: "in", attribute: "n", pointer: "/n", path: "/$in", values: wanted });
  const bounds = [[most], [0, most], [1, most / 2, most - 1], [most / 2, null], []].map(keysOf);
  for (const rising of [...bounds, [-Infinity, 2, 5, Infinity]]) {
    const { classAt } = column.classifier(rising);
    const expected = Array.from(stored.keys, (key) => rising.filter((bound) => bound <= key).length);
    expect(values.map((_, at) => classAt(at))).toEqual(expected);
  }
  expect(Array.from(stored.keys, (key) => hasKey(bounds[3]!, key))).toEqual([false, false, true, false, false, true]);
});
