import { expect, test } from "vitest";
import { createLeases } from "../../../edge/admission/leases.ts";

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
test("nothing is left of weights that are fractions", () => {
  const leases = createLeases(100);
  for (const end of [0.1, 0.2].map((weight) => leases.take(0, weight))) end();
  expect(leases.weight(0)).toBe(0); // 0.1 + 0.2 − 0.1 − 0.2 is not
});
test("weights add up, and go with their leases, whichever way these end", () => {
  const leases = createLeases(100);
  const end = leases.take(0, 2.5);
  leases.take(50, 4);
  leases.take(60);
  expect(leases.weight(99)).toBe(7.5);
  end();
  end();
  expect(leases.weight(99)).toBe(5);
  expect(leases.weight(150)).toBe(1);
  expect(leases.weight(160)).toBe(0);
});
