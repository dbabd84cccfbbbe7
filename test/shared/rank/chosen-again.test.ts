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
