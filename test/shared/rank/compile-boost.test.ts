import fc from "fast-check";
import { expect, test } from "vitest";
import { type AttributeColumn, decodeAttributes, encodeAttributes } from "../../../shared/attributes.ts";
import type { ItemIndex } from "../../../shared/ids.ts";
import { changedColumn } from "../../../shared/items/changed-column.ts";
import { scaleOfColumn } from "../../../shared/rank/column-numbers.ts";
import { compileShaping } from "../../../shared/rank/compile-shaping.ts";
import type { KnownNames } from "../../../shared/snapshot.ts";

const NOW = 1_800_000_000;
const DAY = 86_400;

type Kind = "Numerical" | "Timestamp";
const tableOf = (type: Kind, values: readonly (number | null)[]) => {
  const column: AttributeColumn = {
    name: "n",
    type,
    values: Float64Array.from(values, (value) => value ?? Number.NaN),
  };
  return decodeAttributes(encodeAttributes([column], values.length));
};

/** What a boost adds to each item, in units of `by`. */
function addedBy(
  boost: { by: number; halfLifeDays?: number },
  attributes: ReturnType<typeof tableOf>,
  itemCount = attributes.itemCount,
): number[] {
  const version = { attributes, itemCount, version: "v" } as KnownNames;
  const request = { userId: undefined, nowSeconds: NOW, valueFor: () => undefined, missing: new Set<string>() };
  const boosts = [{ ...boost, attribute: "n", pointer: "/boosts/0" }];
  const [compiled] = compileShaping({ boosts }, request, version).boosts;
  const { valueAt } = compiled as { valueAt: (item: ItemIndex) => number };
  return Array.from({ length: attributes.itemCount }, (_, item) => compiled!.by * valueAt(item as ItemIndex));
}

/** By definition, in plain loops. */
function zScores(values: readonly (number | null)[]): number[] {
  const present = values.filter((value) => value !== null);
  const mean = present.reduce((sum, value) => sum + value, 0) / present.length;
  const deviation = Math.sqrt(present.reduce((sum, value) => sum + (value - mean) ** 2, 0) / present.length);
  return values.map((value) => (value === null || deviation < 1e-9 ? 0 : (value - mean) / deviation));
}

// Integers are stored as a base and keys, few distinct numbers as codes, and others as they are.
const numbers = fc.constantFrom(
  fc.integer({ min: -50, max: 300 }),
  fc.constantFrom(0.5, 1.25, -7.125),
  fc.integer({ min: -9999, max: 9999 }).map((value) => value / 7),
);
const columns = numbers.chain((number) => fc.array(fc.option(number, { freq: 4 }), { minLength: 1, maxLength: 40 }));
const close = (expected: readonly number[]) => expected.map((value) => expect.closeTo(value, 6));

test("a boost by an attribute adds its z-scores, also after changes of the catalog", () =>
  fc.assert(
    fc.property(
      columns,
      fc.array(fc.tuple(fc.nat(39), fc.option(fc.integer({ min: -99, max: 999 })))),
      (values, changes) => {
        const table = tableOf("Numerical", values);
        expect(addedBy({ by: 1 }, table)).toEqual(close(zScores(values)));
        expect(addedBy({ by: -2 }, table)).toEqual(close(zScores(values).map((value) => -2 * value)));
        const known = changes.filter(([item]) => item < values.length);
        const changed = [...values];
        for (const [item, value] of known) changed[item] = value;
        const column = changedColumn(table.columns.get("n")!, {
          items: known.map(([item]) => item as ItemIndex),
          codes: [...known.keys()],
          values: known.map(([, value]) => value),
        });
        const after = { itemCount: values.length, columns: new Map([["n", column]]) };
        expect(addedBy({ by: 1 }, after)).toEqual(close(zScores(changed)));
      },
    ),
  ));

test("a boost with a half-life falls with the age; the future counts as now", () =>
  fc.assert(
    fc.property(
      fc.array(fc.option(fc.integer({ min: NOW - 400 * DAY, max: NOW + 9 * DAY })), { minLength: 1, maxLength: 30 }),
      fc.constantFrom(0.5, 7, 365),
      (values, halfLifeDays) => {
        const expected = values.map((at) =>
          at === null ? 0 : 3 * 0.5 ** (Math.max(0, NOW - at) / (halfLifeDays * DAY)),
        );
        expect(addedBy({ by: 3, halfLifeDays }, tableOf("Timestamp", values))).toEqual(close(expected));
      },
    ),
  ));

test("new items have z-scores, and change no other one's", () => {
  const added = addedBy({ by: 1 }, tableOf("Numerical", [1, 3, 1000, null]), 2);
  expect(added).toEqual(close([-1, 1, 998, 0]));
});

test("the scale of a column is computed once", () => {
  const column = tableOf("Numerical", [1, 2, 3]).columns.get("n") as Parameters<typeof scaleOfColumn>[0];
  expect(scaleOfColumn(column, 3)).toBe(scaleOfColumn(column, 3));
});

test("equal and missing numbers add nothing", () => {
  expect(addedBy({ by: 1 }, tableOf("Numerical", [5, 5, null]))).toEqual([0, 0, 0]);
  expect(addedBy({ by: 1 }, tableOf("Numerical", [null, null]))).toEqual([0, 0]);
});
