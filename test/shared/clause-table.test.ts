import fc from "fast-check";
import { expect, test } from "vitest";
import { clauseTable } from "../../shared/clause-table.ts";
import type { ItemIndex } from "../../shared/ids.ts";
import type { KeyTest } from "../../shared/match-node.ts";
import { COLUMNS, ITEMS, passesTest, tests } from "../fixtures/key-columns.ts";

const items = Array.from({ length: ITEMS }, (_, item) => item as ItemIndex);

/** At most one test per column and clause, except on the list, as the matcher's clauses are. */
const clauses = fc
  .array(fc.array(tests, { maxLength: 5 }), { maxLength: 70, size: "max" })
  .map((all) =>
    all.map((clause) =>
      clause.filter((one, i) => one.column.start || clause.findIndex((other) => other.column === one.column) === i),
    ),
  );

test("an item passes when it passes all tests of any clause", () =>
  fc.assert(
    fc.property(clauses, (all) => {
      const isMatch = clauseTable(all);
      const expected = items.filter((item) => all.some((clause) => clause.every((one) => passesTest(one, item))));
      expect(items.filter((item) => isMatch(item))).toEqual(expected);
    }),
    { numRuns: 500 },
  ));

const [a, , c] = COLUMNS;
const keyTest = (kind: KeyTest["kind"], key: number, column = a!): KeyTest => ({ kind, column, keys: [key, key + 1] });
const passing = (all: KeyTest[][]) => items.filter(clauseTable(all));

test("no clauses let nothing through, a clause without tests everything", () => {
  expect(passing([])).toEqual([]);
  expect(passing([[]])).toEqual(items);
});

test.each([31, 32, 33, 64, 65])("the last of %i clauses counts", (count) => {
  const never = Array.from({ length: count - 1 }, () => [keyTest("some", 99)]);
  expect(passing([...never, [keyTest("some", 4)]])).toEqual([4]);
  expect(passing([...never, [keyTest("some", 99)]])).toEqual([]);
});

test("several tests of one list in one clause are asked apart", () => {
  expect(passing([[keyTest("some", 1, c), keyTest("some", 2, c)]])).toEqual([2]);
  expect(passing([[keyTest("some", 1, c), keyTest("none", 2, c)]])).toEqual([1]);
});

test("a missing list has the key 0", () => {
  expect(passing([[keyTest("some", 0, c)]])).toEqual([0]);
  expect(passing([[keyTest("none", 0, c)]])).toEqual([1, 2, 3, 4, 5]);
});
