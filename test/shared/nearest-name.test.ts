import fc from "fast-check";
import { expect, test } from "vitest";
import { didYouMean, editDistance, nearestName } from "../../shared/nearest-name.ts";

test.each([
  ["", "", 0],
  ["", "abc", 3],
  ["limit", "limit", 0],
  ["limt", "limit", 1],
  ["limti", "limit", 1],
  ["kitten", "sitting", 3],
])("from %j to %j are %i edits", (a, b, distance) => expect(editDistance(a, b)).toBe(distance));

test("the distance is symmetric, and zero only for equal words", () =>
  fc.assert(
    fc.property(fc.string({ maxLength: 8 }), fc.string({ maxLength: 8 }), (a, b) => {
      expect(editDistance(a, b)).toBe(editDistance(b, a));
      expect(editDistance(a, b) === 0).toBe(a === b);
      expect(editDistance(a, b)).toBeLessThanOrEqual(Math.max(a.length, b.length));
    }),
  ));

const FIELDS = ["user_id", "limit", "interactions", "retrieval"];
test.each([
  ["limt", "limit"],
  ["Limit", "limit"],
  ["userid", "user_id"],
  ["retreival", "retrieval"],
  ["x", undefined],
  ["colour", undefined],
  ["x".repeat(10_000), undefined],
])("%.20s → %s", (name, expected) => expect(nearestName(name, FIELDS)).toBe(expected));

test("the nearest name is chosen, and the first of equally near ones", () => {
  expect(nearestName("categori", ["categories", "category", "categoric"])).toBe("category");
  expect(nearestName("categori", ["category", "categories"])).toBe("category");
});
test("names of up to 64 characters are compared, longer ones are not", () => {
  const name = (length: number) => "x".repeat(length);
  expect([nearestName(name(64), [name(63)]), nearestName(name(65), [name(63)])]).toEqual([name(63), undefined]);
  expect([nearestName(name(63), [name(64)]), nearestName(name(63), [name(65)])]).toEqual([name(64), undefined]);
});
test("a third of the letters may be wrong, or one letter of a short name", () => {
  expect(["ab", "axc", "abcdeff"].map((name) => nearestName(name, ["abcdefxy", "abc"]))).toEqual([
    "abc",
    "abc",
    "abcdefxy",
  ]);
  expect(["a", "xyc", "abcdxyz"].map((name) => nearestName(name, ["abcdefgh", "abc"]))).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  expect(nearestName("ITEMS", ["items"])).toBe("items");
});
test("the hint can be appended to a sentence", () => {
  expect(didYouMean("limt", FIELDS)).toBe('; did you mean "limit"?');
  expect(didYouMean("zzz", FIELDS)).toBe("");
});
