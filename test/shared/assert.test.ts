import { expect, test } from "vitest";
import { assert, FormatError } from "../../shared/assert.ts";

test("a true condition passes, a false one throws its sentence", () => {
  expect(() => assert(1 + 1 === 2, "sums are right")).not.toThrow();
  for (const wrong of [false, 0, "", null, undefined, Number.NaN])
    expect(() => assert(wrong, "sums are right")).toThrow("Assertion failed: sums are right");
});

test("a FormatError has its own name", () => expect(new FormatError("x").name).toBe("FormatError"));
