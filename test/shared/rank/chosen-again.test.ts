import fc from "fast-check";
import { expect, test } from "vitest";
import type { ItemIndex } from "../../../shared/ids.ts";
import { chosenAgain } from "../../../shared/rank/chosen-again.ts";

const historyOf = (...entries: readonly [item: number, ageDays: number][]) => ({
  items: entries.map(([item]) => item as ItemIndex),
  agesDays: entries.map(([, age]) => age),
});
const orderOf = (history: ReturnType<typeof historyOf>) => {
  const { scores, chosen } = chosenAgain(history, 100);
  return chosen.toSorted((a, b) => scores[b]! - scores[a]!);
};

test("what was chosen lately comes first, and so does what was chosen often", () => {
  expect(orderOf(historyOf([1, 300], [2, 2], [3, 30]))).toEqual([2, 3, 1]);
  expect(orderOf(historyOf([1, 30], [1, 40], [1, 50], [2, 20]))).toEqual([1, 2]);
});
test("once a minute ago is more than ten times a year ago", () => {
  const old = Array.from({ length: 10 }, (): [number, number] => [1, 365]);
  expect(orderOf(historyOf(...old, [2, 1 / 1440]))).toEqual([2, 1]);
});
test("an activation is the logarithm of the sum of the roots of the ages, standardised", () => {
  const { scores } = chosenAgain(historyOf([4, 1], [4, 4], [7, 9]), 10);
  const [a, b] = [Math.log(1 + 1 / 2), Math.log(1 / 3)];
  expect(scores[4]! - scores[7]!).toBeCloseTo(2, 5); // two values are one deviation from their mean
  expect(a).toBeGreaterThan(b);
  expect(chosenAgain(historyOf(), 10).chosen).toEqual([]);
});
test("in a version without weights, intervals change nothing", () => {
  const history = historyOf([1, 30], [1, 40], [2, 20], [3, 0.001]);
  const repeats = { itemCount: 10, daysOf: (item: number) => item, rateOf: () => 1, weights: undefined };
  expect(chosenAgain(history, 10, repeats)).toEqual(chosenAgain(history, 10));
});
test("with weights, what is due comes before what was just chosen, and what is chosen again before what is not", () => {
  const orderOf = (...entries: readonly [number, number][]) => {
    const { scores, chosen } = chosenAgain(historyOf(...entries), 10, {
      itemCount: 10,
      daysOf: (item) => (item === 1 ? 30 : 3),
      rateOf: (item) => (item === 9 ? 0.01 : 0.3),
      weights: [0.4, 0.6, 0, -0.05, 0.4, 0, 0],
    });
    return chosen.toSorted((a, b) => scores[b]! - scores[a]!);
  };
  expect(orderOf([2, 0.001], [3, 3])).toEqual([3, 2]);
  expect(orderOf([1, 60], [2, 60])).toEqual([1, 2]); // twenty intervals of the other one have passed
  expect(orderOf([2, 3], [2, 6], [2, 9], [3, 3])).toEqual([2, 3]);
  expect(orderOf([9, 3], [3, 5])).toEqual([3, 9]);
});
test("one more choice never moves an item down", () =>
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(20), fc.float({ min: 0, max: 400, noNaN: true })), { minLength: 1, maxLength: 30 }),
      fc.nat(20),
      fc.float({ min: 0, max: 400, noNaN: true }),
      (entries, item, age) => {
        const place = (order: readonly number[]) => (order.includes(item) ? order.indexOf(item) : Infinity);
        const before = orderOf(historyOf(...entries));
        const after = orderOf(historyOf(...entries, [item, age]));
        expect(place(after)).toBeLessThanOrEqual(Math.max(place(before), before.length));
        if (before.includes(item as ItemIndex)) expect(place(after)).toBeLessThanOrEqual(place(before));
      },
    ),
  ));
