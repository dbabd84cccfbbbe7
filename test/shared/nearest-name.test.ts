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

test("distance is symmetric, and zero for equal words alone", () =>
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

test("the hint is ready to be appended", () => {
  expect(didYouMean("limt", FIELDS)).toBe('; did you mean "limit"?');
  expect(didYouMean("zzz", FIELDS)).toBe("");
});
