import fc from "fast-check";
import { expect, test } from "vitest";
import { clauseTable } from "../../../shared/filter/clause-table.ts";
import type { KeyTest } from "../../../shared/filter/key-tree.ts";
import type { ItemIndex } from "../../../shared/ids.ts";
import { COLUMNS, ITEMS, listColumn, passesTest, tests } from "../../fixtures/key-columns.ts";

const [a, , c] = COLUMNS;
const keyTest = (kind: KeyTest["kind"], key: number, column = a!): KeyTest => ({ kind, column, keys: [key, key + 1] });
const items = Array.from({ length: ITEMS }, (_, item) => item as ItemIndex);

/** At most one test per column and clause, except on the list, as in the clauses that the compiler makes. */
const clausesOf = (clause: fc.Arbitrary<KeyTest[]>, maxLength: number) =>
  fc
    .array(clause, { maxLength, size: "max" })
    .map((all) =>
      all.map((tried) =>
        tried.filter((one, i) => one.column.start || tried.findIndex((other) => other.column === one.column) === i),
      ),
    );
/** A few random clauses among many that pass nothing: many random clauses would pass nearly everything. */
const fewAmongMany = fc
  .tuple(clausesOf(fc.array(tests, { minLength: 2, maxLength: 5 }), 3), fc.nat(70), fc.nat(70))
  .map(([few, before, after]) => {
    const never = (count: number) => Array.from({ length: count }, () => [keyTest("some", 99)]);
    return [...never(before), ...few, ...never(after)];
  });
const clauses = fc.oneof(clausesOf(fc.array(tests, { maxLength: 5 }), 70), fewAmongMany);

test("an item matches if it passes all tests of any clause", () =>
  fc.assert(
    fc.property(clauses, (all) => {
      const { isMatch } = clauseTable(all, ITEMS);
      const expected = items.filter((item) => all.some((clause) => clause.every((one) => passesTest(one, item))));
      expect(items.filter((item) => isMatch(item))).toEqual(expected);
    }),
    { numRuns: 250 },
  ));

const passing = (all: KeyTest[][]) => items.filter(clauseTable(all, ITEMS).isMatch);

test("no clauses pass no item, a clause without tests passes every item", () => {
  expect(passing([])).toEqual([]);
  expect(passing([[]])).toEqual(items);
});

test.each([31, 32, 33, 64, 65])("the last of %i clauses counts", (count) => {
  const never = Array.from({ length: count - 1 }, () => [keyTest("some", 99)]);
  expect(passing([...never, [keyTest("some", 4)]])).toEqual([4]);
  expect(passing([...never, [keyTest("some", 99)]])).toEqual([]);
});

test("several tests of one clause on one list are tested separately", () => {
  expect(passing([[keyTest("some", 1, c), keyTest("some", 2, c)]])).toEqual([2]);
  expect(passing([[keyTest("some", 1, c), keyTest("none", 2, c)]])).toEqual([1]);
});

test("a missing list has the key 0", () => {
  expect(passing([[keyTest("some", 0, c)]])).toEqual([0]);
  expect(passing([[keyTest("none", 0, c)]])).toEqual([1, 2, 3, 4, 5]);
});

test("the estimated time grows with the items, the clauses, the keys of a list and the items that reach the list", () => {
  const nsOf = (all: KeyTest[][], itemCount = ITEMS) => clauseTable(all, itemCount).estimateTotalNs();
  const never = keyTest("some", 99);
  const passed = { ...never, keys: [-1, 6] };
  const many = (count: number) => Array.from({ length: count }, () => [passed]);
  expect(nsOf([[passed]])).toBeGreaterThan(ITEMS);
  expect(nsOf([[passed]], 3)).toBeCloseTo(nsOf([[passed]]) / 2, 9);
  expect(nsOf(many(320))).toBeGreaterThan(1.2 * nsOf(many(1)));
  const list = keyTest("none", 99, c);
  expect(nsOf([[list]])).toBeGreaterThan(nsOf([[passed]]));
  expect(nsOf([[list, never]])).toBeCloseTo(nsOf([[never]]), 9);
  expect(nsOf([[list, passed]])).toBeGreaterThan(nsOf([[list]]));
  expect(nsOf([], 0)).toBe(0);
  const inOrder = (lists: number[][]) => nsOf([[{ ...list, column: listColumn("c", lists) }]]);
  const lists = [[], [1], [1, 2], [1, 2, 3], [], []];
  expect(inOrder(lists)).toBeCloseTo(inOrder(lists.toReversed()), 9);
  expect(inOrder(lists)).toBeGreaterThan(inOrder([[], [], [], [], [], []]));
});
