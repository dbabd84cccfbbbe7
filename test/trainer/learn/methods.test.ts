import { expect, test } from "vitest";
import { METHODS } from "../../../trainer/learn/methods.ts";
import { twoAisles } from "../../fixtures/two-aisles.ts";

test("every method stands under its own name, and its settings are numbers", () => {
  for (const [name, method] of Object.entries(METHODS)) {
    expect(method.name).toBe(name);
    for (const params of method.grid(twoAisles())) {
      expect(Object.values(params).every(Number.isFinite)).toBe(true);
    }
  }
});
