import { expect, test } from "vitest";
import { onePerCustomer } from "../../../../trainer/manage/processes/one-per-customer.ts";

test("one for each customer, some of all; a place is free again however its work ended", async () => {
  const place = onePerCustomer({ atOnce: 1, retryAfterSeconds: 3, names: ["A count", "counts"] });
  let fail: (error: Error) => void = () => {};
  const first = place("acme", () => new Promise((_, reject) => (fail = reject)));
  await expect(place("acme", async () => 1)).rejects.toMatchObject({ code: "rate_limited", retryAfterSeconds: 3 });
  await expect(place("globex", async () => 1)).rejects.toThrow("1 counts are under way.");
  fail(new Error("lost"));
  await expect(first).rejects.toThrow("lost");
  expect(await place("acme", async () => 2)).toBe(2);
});
