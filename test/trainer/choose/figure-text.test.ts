import { expect, test } from "vitest";
import { four, signed } from "../../../trainer/choose/figure-text.ts";

test("figures have four digits, differences their sign, and what could not be measured is said so", () => {
  expect([0.06474, 1, null].map(four)).toEqual(["0.0647", "1.0000", "unknown"]);
  expect([0.00123, -0.5, 0, null].map(signed)).toEqual(["+0.0012", "−0.5000", "+0.0000", "unknown"]);
});
