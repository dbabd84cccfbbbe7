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

test("where a sample can be prepared, as many are taken whole as leave room for fits", () => {
  expect(interactionsBesideFits(1850, row("Binary"))).toBe(28_461_538); // of 47 million in 2000 MB
  expect(interactionsBesideFits(3000, row("Binary"))).toBe(69_230_769); // of 77 million
  expect(interactionsBesideFits(3946, row("Binary"))).toBe(101_179_487); // all that fit in 4096 MB
  expect(interactionsBesideFits(Number.POSITIVE_INFINITY, row("Binary"))).toBe(Number.POSITIVE_INFINITY);
});

test("staging takes its part of a small memory, and of a large one what its threads need", () => {
  const taken = [1000, 4096, 20_000].map((mb) => [stagingMb(mb, 2), stagingMb(mb, 8)]);
  expect(taken).toEqual([
    [300, 300],
    [600, 1000],
    [600, 1000],
  ]);
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
