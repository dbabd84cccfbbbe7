import { expect, test } from "vitest";
import { itemTimelines } from "./item-timelines.ts";

const shown = { hidden: false, rarity: 1 };
const gone = { hidden: true, rarity: 1 };
const rare = { hidden: false, rarity: 9 };
const isShown = (states: readonly { hidden: boolean }[]) => states.some(({ hidden }) => !hidden);

test("an item that was hidden longer ago than promised may be in no answer", () => {
  const items = itemTimelines(() => shown, 10);
  const done = items.send(7, gone, 100);
  expect(isShown(items.possible(7, 99, 101))).toBe(true);
  expect(isShown(items.possible(7, 1000, 1001))).toBe(true); // never acknowledged
  done(105);
  expect(isShown(items.possible(7, 114, 200))).toBe(true);
  expect(isShown(items.possible(7, 115, 200))).toBe(false);
  expect(items.hiddenForMs(7, 104)).toBeUndefined();
  expect(items.hiddenForMs(7, 112)).toBe(7);
});

test("an item may have the values of the time between the call and what was sure before it", () => {
  const items = itemTimelines(() => shown, 10);
  items.send(7, gone, 100)(101);
  items.send(7, rare, 120)(121);
  expect(items.possible(7, 110, 119)).toMatchObject([shown, gone]);
  expect(items.possible(7, 115, 121)).toMatchObject([gone, rare]);
  expect(items.possible(7, 131, 140)).toMatchObject([rare]);
  expect(items.possible(8, 131, 140)).toEqual([shown]);
  expect(items.latest(7)).toMatchObject(rare);
});
