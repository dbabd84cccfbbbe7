import { expect, test } from "vitest";
import { admit } from "../../edge/admission.ts";
import { createLeases } from "../../edge/leases.ts";

/** How many calls are let in, all at the same time. */
function admitted(itemCount: number, queueMsMax: number): number {
  const work = createLeases(1000);
  let count = 0;
  while (admit(work, { itemCount, nowMs: 0, queueMsMax })) count++;
  return count;
}

test.each([
  ["small catalogs", 1000, 150, 59],
  ["100,000 items", 100_000, 150, 30],
  ["a million", 1_000_000, 150, 5],
  ["one call that is longer than what may wait", 10_000_000, 150, 1],
])("the larger the catalog, the fewer at once: %s", (_, itemCount, queueMsMax, count) => {
  expect(admitted(itemCount, queueMsMax)).toBe(count);
});

test("who leaves makes room; who never leaves does so when the lease ends", () => {
  const work = createLeases(1000);
  const arrival = { itemCount: 1_000_000, nowMs: 0, queueMsMax: 60 };
  const [first, second] = [admit(work, arrival), admit(work, arrival)];
  expect(first && second).toBeDefined();
  expect(admit(work, arrival)).toBeUndefined();
  first!();
  expect(admit(work, arrival)).toBeDefined();
  expect(admit(work, { ...arrival, nowMs: 999 })).toBeUndefined();
  expect(admit(work, { ...arrival, nowMs: 1000 })).toBeDefined();
});
