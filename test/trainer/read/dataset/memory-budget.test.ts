import fc from "fast-check";
import { expect, test } from "vitest";
import {
  interactionMb,
  interactionsBesideFits,
  interactionsThatFit,
  mbOfInteractions,
  stagingMb,
} from "../../../../trainer/read/dataset/memory-budget.ts";

const row = (type: "Binary" | "Rating") => ({ label: { type } });

test("a third of 4096 MB holds 105,025,641 interactions, 80,313,725 with ratings, or 52,512,820 with sessions", () => {
  expect(interactionsThatFit(4096, row("Binary"))).toBe(105_025_641);
  expect(interactionsThatFit(4096, row("Rating"))).toBe(80_313_725);
  expect(interactionsThatFit(4096, { ...row("Binary"), session_id: "s" })).toBe(52_512_820);
  expect(interactionsThatFit(Number.POSITIVE_INFINITY, row("Binary"))).toBe(Number.POSITIVE_INFINITY);
});

test("where a sample can be prepared, 2000 MB are for the 28 million interactions that leave room for fits", () => {
  const count = interactionsBesideFits(1850, row("Binary"));
  expect(count).toBe(28_461_538);
  // 345 MB of the process, the interactions and their training part, and 24 bytes of each in a fit of 100,000 items with 50 neighbours.
  expect(345 + (count * (13 + 13 + 24) + 1e5 * 50 * 24) / 1e6).toBeLessThan(2000);
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
