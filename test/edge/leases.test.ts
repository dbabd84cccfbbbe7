import { expect, test } from "vitest";
import { createLeases } from "../../edge/leases.ts";

test("0, 1, 2 leases, and back", () => {
  const leases = createLeases(100);
  expect(leases.count(0)).toBe(0);
  const endFirst = leases.take(0);
  const endSecond = leases.take(0);
  expect(leases.count(1)).toBe(2);
  endFirst();
  endFirst();
  expect(leases.count(1)).toBe(1);
  endSecond();
  expect(leases.count(1)).toBe(0);
});
test("a lease that is never given back ends by itself, and no sooner", () => {
  const leases = createLeases(100);
  leases.take(0);
  leases.take(50);
  expect(leases.count(99)).toBe(2);
  expect(leases.count(100)).toBe(1);
  expect(leases.count(150)).toBe(0);
});
