import { expect, test } from "vitest";
import { SLOTS } from "../../../../shared/item-hours.ts";
import { itemHours } from "../../../../trainer/learn/statistics/item-hours.ts";
import { type Choice, interactionsOf } from "../../../fixtures/repeating-users.ts";

/** Days count from 1:46:40 o'clock. */
const hour = (of: number) => (of - (1 + 46 / 60 + 40 / 3600)) / 24;
/** Twenty users choose these items at these hours of a day. */
const chosenAt = (hours: readonly (readonly [item: number, hour: number])[]) =>
  interactionsOf(
    Array.from({ length: 20 }, (_, user) => hours.map(([item, of]): Choice => [item, user + 1 + hour(of)])),
    4,
  );

test("an item has the logarithm of how much more often it is chosen at a time than all items are", () => {
  // Item 0 at 9, item 1 at 9 and at 18, item 2 half-way between 18 and 21, and nobody chose item 3.
  const { items, shifts } = itemHours(chosenAt([[0, 9], [1, 9], [1, 18], [2, 19.5]]))!; // biome-ignore format: one line
  expect([...items]).toEqual([0, 1, 2]);
  const shiftOf = (item: number, slot: number) => shifts[item * SLOTS + slot]! / 32;
  // 20 choices and 5 usual ones: of slot 3, half of all choices are.
  expect(shiftOf(0, 3)).toBeCloseTo(Math.log((20 / 0.5 + 5) / 25), 1);
  expect(shiftOf(0, 6)).toBeCloseTo(Math.log(5 / 25), 1);
  expect(shiftOf(1, 3)).toBeCloseTo(Math.log((20 / 0.5 + 5) / 45), 1);
  expect(shiftOf(2, 6)).toBeCloseTo(Math.log((10 / (30 / 80) + 5) / 25), 1);
  expect(shiftOf(2, 7)).toBeCloseTo(Math.log((10 / (10 / 80) + 5) / 25), 1);
  expect(shiftOf(0, 0)).toBe(0); // nothing is chosen then
});

test("dates without times say nothing, and neither do choices that were not wanted", () => {
  expect(itemHours(chosenAt([[0, 0], [1, 0], [2, 0]]))).toBeUndefined(); // biome-ignore format: one line
  const data = chosenAt([[0, 9], [1, 18]]); // biome-ignore format: one line
  expect(itemHours({ ...data, positive: data.items.map((item) => 1 - item) as unknown as Uint8Array })).toBeUndefined();
});
