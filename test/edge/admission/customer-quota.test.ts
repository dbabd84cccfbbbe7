import { expect, test } from "vitest";
import { createCustomerQuota } from "../../../edge/admission/customer-quota.ts";

test("what was taken is counted until it is returned, and returning it twice is no error", () => {
  const quota = createCustomerQuota(Infinity, 100);
  const [endFirst, endSecond] = [quota.take("a", 0)!, quota.take("a", 0)!];
  expect(quota.taken(1)).toBe(2);
  endFirst();
  endFirst();
  expect(quota.taken(1)).toBe(1);
  endSecond();
  expect(quota.taken(1)).toBe(0);
});
test("what nobody returns expires, and no sooner", () => {
  const quota = createCustomerQuota(Infinity, 100);
  quota.take("a", 0, 2.5);
  quota.take("b", 50, 4);
  expect([99, 100, 149, 150].map((nowMs) => quota.taken(nowMs))).toEqual([6.5, 4, 4, 0]);
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
