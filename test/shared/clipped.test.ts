import fc from "fast-check";
import { expect, test } from "vitest";
import { clipped } from "../../shared/clipped.ts";

test("a text is cut before a character that would be halved", () => {
  expect(clipped("a😀b", 2)).toBe("a");
  expect(clipped("a😀b", 3)).toBe("a😀");
  expect(clipped("a😀", 3)).toBe("a😀");
});

test("any text stays well-formed, and loses at most one unit more", () =>
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.nat(30), (text, max) => {
      const cut = clipped(text, max);
      expect(cut.isWellFormed()).toBe(true);
      expect(text.startsWith(cut)).toBe(true);
      expect(cut.length).toBeGreaterThanOrEqual(Math.min(text.length, max) - 1);
    }),
  ));
