import { expect, test } from "vitest";
import { onePerCustomer } from "../../../../trainer/manage/questions/one-per-customer.ts";

test("one piece of work per customer and a limited number of all; failed work frees its place", async () => {
  const limited = onePerCustomer({ atOnce: 1, retryAfterSeconds: 3, names: ["A count", "counts"] });
  let fail: (error: Error) => void = () => {};
  const first = limited("acme", () => new Promise((_, reject) => (fail = reject)));
  await expect(limited("acme", async () => 1)).rejects.toMatchObject({ code: "rate_limited", retryAfterSeconds: 3 });
  await expect(limited("globex", async () => 1)).rejects.toThrow("1 counts are in progress.");
  fail(new Error("lost"));
  await expect(first).rejects.toThrow("lost");
  expect(await limited("acme", async () => 2)).toBe(2);
});
