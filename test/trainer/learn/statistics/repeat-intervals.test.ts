import { expect, test } from "vitest";
import { repeatIntervals } from "../../../../trainer/learn/statistics/repeat-intervals.ts";
import { fitRepeatWeights } from "../../../../trainer/learn/statistics/repeat-weights.ts";
import { type Choice, interactionsOf, REPEATED_ITEMS, repeatingUsers } from "../../../fixtures/repeating-users.ts";

const OFTEN: readonly Choice[] = [
  [0, 0],
  [1, 1],
  [0, 2],
  [0, 3, 0],
  [0, 4],
];
const ONCE_MORE: readonly Choice[] = [
  [1, 0],
  [1, 32],
];
const tableOf = (...users: (readonly Choice[])[]) => repeatIntervals(interactionsOf(users, 4))!;
const many = (user: readonly Choice[], count = 200) => Array<readonly Choice[]>(count).fill(user);

test("intervals are geometric means between positive choices of the same user, drawn towards the usual one", () => {
  const table = tableOf(...many(OFTEN), ONCE_MORE);
  expect([...table.items]).toEqual([0, 1]);
  const usual = (400 * Math.log(2) + Math.log(32)) / 401;
  expect(table.usualDays).toBeCloseTo(Math.exp(usual), 5);
  expect(table.days[0]).toBeCloseTo(Math.exp((400 * Math.log(2) + 5 * usual) / 405), 4);
  expect(table.days[1]).toBeCloseTo(Math.exp((Math.log(32) + 5 * usual) / 6), 4);
});

test("rates are repetitions for each later visit, drawn towards the usual one", () => {
  // Four visits of whom chose item 0 at the first one leave three, and item 1 at the second one leaves two.
  const table = tableOf(...many(OFTEN), ONCE_MORE);
  const exposures = [200 * 3, 200 * 2 + 1];
  const usual = 401 / (exposures[0]! + exposures[1]!);
  expect(table.usualRate).toBeCloseTo(usual, 10);
  expect(table.rates[0]).toBeCloseTo((400 + 5 * usual) / (exposures[0]! + 5), 6);
  expect(table.rates[1]).toBeCloseTo((1 + 5 * usual) / (exposures[1]! + 5), 6);
});

test("an item that nobody chose again has a rate of its own, far below the usual one", () => {
  const { items, rates, days, usualRate, usualDays } = tableOf(...many(OFTEN));
  expect([...items]).toEqual([0, 1]);
  expect(rates[1]).toBeCloseTo((5 * usualRate) / (200 * 2 + 5), 6);
  expect(days[1]).toBeCloseTo(usualDays, 5);
});

test("several choices at one moment are one visit, and no repetition", () => {
  const twice = OFTEN.flatMap((choice): Choice[] => [choice, choice]);
  expect(tableOf(...many(twice), ONCE_MORE)).toEqual(tableOf(...many(OFTEN), ONCE_MORE));
  expect(repeatIntervals(interactionsOf(many([0, 0, 0].map((item): Choice => [item, 0])), 4))).toBeUndefined();
});

test("with few repetitions there are no intervals", () => {
  const user: readonly Choice[] = [
    [0, 0],
    [0, 2],
    [1, 3],
  ];
  expect(repeatIntervals(interactionsOf(many(user, 99), 4))).toBeUndefined();
  expect(repeatIntervals(interactionsOf(many(user, 100), 4))).toBeDefined();
});

test("without repetitions before the visits that weights are learnt from, weights are the usual ones", () => {
  const twoVisits: readonly Choice[] = [
    [0, 0],
    [1, 0],
    [0, 2],
  ];
  expect(tableOf(...many(twoVisits)).weights).toEqual(fitRepeatWeights([]));
  expect(tableOf(...many([...twoVisits, [1, 3], [0, 4], [0, 6]])).weights).not.toEqual(fitRepeatWeights([]));
});

test("the same data have the same table, with weights of which none is extreme", () => {
  const data = interactionsOf(repeatingUsers(100, 1), REPEATED_ITEMS);
  const table = repeatIntervals(data)!;
  expect(repeatIntervals(data)).toEqual(table);
  for (const weight of table.weights) expect(Math.abs(weight)).toBeLessThan(10);
});
