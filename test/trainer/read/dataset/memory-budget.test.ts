import fc from "fast-check";
import { expect, test } from "vitest";
import {
  interactionMb,
  interactionsThatFit,
  mbOfInteractions,
  stagingMb,
} from "../../../../trainer/read/dataset/memory-budget.ts";

const row = (type: "Binary" | "Rating") => ({ label: { type } });

test("half of 4096 MB holds 157,538,461 interactions, 120,470,588 with ratings, or 78,769,230 with sessions", () => {
  expect(interactionsThatFit(4096, row("Binary"))).toBe(157_538_461);
  expect(interactionsThatFit(4096, row("Rating"))).toBe(120_470_588);
  expect(interactionsThatFit(4096, { ...row("Binary"), session_id: "s" })).toBe(78_769_230);
  expect(interactionsThatFit(Number.POSITIVE_INFINITY, row("Binary"))).toBe(Number.POSITIVE_INFINITY);
});

test("the interactions that fit use their part of the memory, and one more does not fit", () =>
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1e6 }), fc.constantFrom("Binary" as const, "Rating" as const), (mb, type) => {
      const label = row(type);
      const count = interactionsThatFit(mb, label);
      expect(mbOfInteractions(count, label)).toBeLessThanOrEqual(interactionMb(mb));
      expect(mbOfInteractions(count + 1, label)).toBeGreaterThan(interactionMb(mb));
      expect(interactionMb(mb) + stagingMb(mb)).toBeLessThan(mb);
    }),
  ));
