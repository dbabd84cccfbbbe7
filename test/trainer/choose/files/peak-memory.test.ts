import { expect, test } from "vitest";
import { watchPeakMemory } from "../../../../trainer/choose/files/peak-memory.ts";

test("the peak holds what was used in between, in MB", () => {
  const peak = watchPeakMemory();
  const before = peak();
  const block = new Uint8Array(200 * 2 ** 20).fill(1);
  expect(peak() - before).toBeGreaterThan(block.length / 2 ** 20 / 2);
  expect(before).toBeGreaterThan(20);
  expect(peak()).toBeLessThan(20_000);
});
