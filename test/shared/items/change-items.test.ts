import { expect, test } from "vitest";
import {
  changedState,
  type ItemState,
  ItemsBody,
  isChanged,
  UNCHANGED_ITEM,
} from "../../../shared/items/change-items.ts";

type Change = Parameters<typeof changedState>[1];
const after = (...changes: Change[]): ItemState =>
  changes.reduce<ItemState>((state, change) => changedState(state, change) ?? state, UNCHANGED_ITEM);
const priceOf = ({ values }: ItemState) => values.price?.value;

test("each field has the value of its latest change, in whatever order changes arrive", () => {
  const changes: Change[] = [
    { attributes: { price: 1, stock: true }, at: 10 },
    { attributes: { price: 2 }, hidden: true, at: 20 },
    { attributes: null, at: 30 },
    { attributes: { price: 3 }, at: 40 },
    { hidden: false, at: 50 },
  ].map((change) => ({ ...change, isNew: true }));
  const expected = after(...changes);
  expect([priceOf(expected), Object.keys(expected.values), expected.hidden]).toEqual([3, ["price"], false]);
  expect(expected.newAt).toBe(40);
  const rotated = changes.map((_, by) => [...changes.slice(by), ...changes.slice(0, by)]);
  for (const order of [changes.toReversed(), ...rotated]) expect(after(...order)).toEqual(expected);
});

test("of two changes at the same time the one that arrives last holds, and an older one is ignored as a whole", () => {
  const state = after({ attributes: { price: 1 }, at: 10 }, { attributes: { price: 2 }, at: 10 });
  expect(priceOf(state)).toBe(2);
  expect(changedState(state, { attributes: { price: 3 }, at: 9 })).toBeUndefined();
  expect(changedState(state, { attributes: { price: 3 }, hidden: true, at: 9 })).toMatchObject({ hidden: true });
  expect(priceOf(changedState(state, { attributes: { price: 3, stock: false }, at: 9 })!)).toBe(2);
});

test("an item is new from its last attributes on, until all are withdrawn", () => {
  const isNew = true;
  const sent = { attributes: { price: 1 }, at: 10, isNew };
  expect(after(sent, { hidden: true, at: 20, isNew }).newAt).toBe(10);
  expect(after(sent, { attributes: { price: 2 }, at: 30, isNew: false }).newAt).toBe(10);
  expect(after(sent, { attributes: null, at: 9, isNew }).newAt).toBe(10);
  expect(after(sent, { attributes: null, at: 40, isNew }).newAt).toBeNull();
  expect(after({ ...sent, isNew: false }).newAt).toBeNull();
});

test("withdrawing keeps hidden, and an item without changes is not changed", () => {
  const hidden = after({ attributes: { price: 1 }, hidden: true, at: 10 }, { attributes: null, at: 20 });
  expect([hidden.hidden, hidden.values, isChanged(hidden)]).toEqual([true, {}, true]);
  expect(isChanged(after({ hidden: true, at: 1 }, { hidden: false, at: 2 }))).toBe(false);
});

test("names of every kind are attributes", () => {
  const attributes = JSON.parse('{"__proto__": 1, "constructor": 2, "toString": 3}') as Record<string, number>;
  const { values } = after({ attributes, at: 1 });
  expect(Object.entries(values).map(([name, { value }]) => [name, value])).toEqual(Object.entries(attributes));
});

test("values are scalars or lists of texts, of bounded size", () => {
  const isValid = (value: unknown) =>
    ItemsBody.safeParse({ items: [{ item_id: "a", attributes: { price: value } }] }).success;
  for (const value of [1, -0.5, true, "red", ["a", "b"], [], null, "é".repeat(1000)]) expect(isValid(value)).toBe(true);
  for (const value of [{}, [1], "é".repeat(1001), "\ud800", "a\0b", Array(101).fill("a"), undefined])
    expect([value, isValid(value)]).toEqual([value, false]);
});
