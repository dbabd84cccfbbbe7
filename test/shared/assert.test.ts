import { expect, test } from "vitest";
import { assert, FormatError } from "../../shared/assert.ts";

test("what holds passes, what does not stops with its sentence", () => {
  expect(() => assert(1 + 1 === 2, "sums are right")).not.toThrow();
  for (const wrong of [false, 0, "", null, undefined, Number.NaN])
    expect(() => assert(wrong, "sums are right")).toThrow("Assertion failed: sums are right");
});

test("a FormatError can be told from other errors by its name", () =>
  expect(new FormatError("x").name).toBe("FormatError"));
