import { expect, test } from "vitest";
import { createCustomerQuota, createLeases } from "../../../edge/admission/customer-quota.ts";

test("leases are counted until they end, and ending one twice is no error", () => {
  const leases = createLeases(100);
  const [endFirst, endSecond] = [leases.take(0), leases.take(0)];
  expect(leases.count(1)).toBe(2);
  endFirst();
  endFirst();
  expect(leases.count(1)).toBe(1);
  endSecond();
  expect(leases.count(1)).toBe(0);
});
test("a lease that nobody ends expires, and no sooner", () => {
  const leases = createLeases(100);
  leases.take(0, "a", 2.5);
  leases.take(50, "b", 4);
  expect([leases.weight(99), leases.weight(99, "a"), leases.weight(99, "c")]).toEqual([6.5, 2.5, 0]);
  expect([leases.count(100), leases.weight(100)]).toEqual([1, 4]);
  expect(leases.count(150)).toBe(0);
});

test("one customer takes at most three quarters, all together the total, and what is returned can be taken again", () => {
  const quota = createCustomerQuota(8, 1000);
  const take = (customer: string) => quota.take(customer, 0) !== undefined;
  const release = quota.take("a", 0)!;
  for (let i = 0; i < 5; i++) expect(take("a")).toBe(true);
  expect([take("a"), take("b"), take("b"), take("c")]).toEqual([false, true, true, false]);

  release();
  release();
  expect([quota.taken(0), quota.hasRoom("b", 0), quota.hasRoom("a", 0)]).toEqual([7, true, true]);
  expect(quota.hasRoom("b", 1000)).toBe(true); // all others have expired
});
