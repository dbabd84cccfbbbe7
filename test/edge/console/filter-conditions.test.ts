import { expect, test } from "vitest";
import {
  conditionsIn,
  isPlace,
  nearIn,
  nearText,
  textOf,
  withCondition,
  withoutCondition,
} from "../../../edge/console/filter-conditions.ts";

test("a filter is conditions in words, and groups stay as they are", () => {
  const filter = {
    category: "Tea",
    price: { $gte: 20, $lt: 80 },
    brand: { $in: ["a", "b"] },
    note: null,
    $or: [{ sale: true }],
  };
  expect(conditionsIn(filter).map(textOf)).toEqual([
    "category is Tea",
    "price is at least 20",
    "price is below 80",
    "brand is one of a, b",
    "note is null",
    '$or [{"sale":true}]',
  ]);
});

test("conditions of one attribute hold together, and the same operator is replaced", () => {
  const atLeast = withCondition({ price: { $lt: 80 } }, { attribute: "price", operator: "$gte", value: 20 });
  expect(atLeast).toEqual({ price: { $lt: 80, $gte: 20 } });
  expect(withCondition(atLeast, { attribute: "price", operator: "$lt", value: 50 })).toEqual({
    price: { $lt: 50, $gte: 20 },
  });
  expect(withCondition({}, { attribute: "category", operator: "$eq", value: "Tea" })).toEqual({ category: "Tea" });
  expect(withCondition({ category: "Tea" }, { attribute: "category", operator: "$eq", value: "Tin" })).toEqual({
    category: "Tin",
  });
});

test("a removed condition leaves the others, and the last one an empty text", () => {
  const filter = { category: "Tea", price: { $gte: 20, $lt: 80 }, $or: [{ sale: true }] };
  const [category, atLeast, below, group] = conditionsIn(filter);
  expect(JSON.parse(withoutCondition(filter, atLeast!))).toEqual({ ...filter, price: { $lt: 80 } });
  expect(JSON.parse(withoutCondition(filter, category!))).toEqual({ price: filter.price, $or: filter.$or });
  expect(JSON.parse(withoutCondition(filter, group!))).toEqual({ category: "Tea", price: filter.price });
  expect(withoutCondition({ price: { $lt: 80 } }, below!)).toBe("");
});

test("a place and its distance are one text, and a condition in words", () => {
  expect(["52.5,-13", "0,0", "52.5", "a,b", "1,2,3", 5, undefined].map(isPlace)).toEqual([
    true,
    true,
    ...Array(5).fill(false),
  ]);
  expect(nearIn(nearText("52.5,-13"))).toEqual({ lat: 52.5, lon: -13, km: 10 });
  for (const text of ["", "1,2", "1,2,", "1,2,x", "1,2,3,4"]) expect(nearIn(text)).toBeUndefined();
  const words = (near: object) => conditionsIn({ place: { $near: near } }).map(textOf);
  expect(words({ lat: 52.5, lon: -13, km: 10 })).toEqual(["place is within 10 km of 52.5, -13"]);
  expect(words({ lat: { $context: "lat" }, lon: 1, km: 2 })).toEqual(['place is within 2 km of {"$context":"lat"}, 1']);
});
