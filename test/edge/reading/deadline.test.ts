import { expect, test, vi } from "vitest";
import { DeadlineError, sleep, within } from "../../../edge/reading/deadline.ts";

const never = new Promise<never>(() => {});

test("work that ends in time returns its value", async () =>
  expect(await within(1000, "it", Promise.resolve(7))).toBe(7));
test("no timer is left once the work has ended", async () => {
  vi.useFakeTimers();
  await within(1000, "it", Promise.resolve(7));
  await within(1000, "it", Promise.reject(new Error("no"))).catch(() => undefined);
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});
test("work that fails in time fails with its own error", () =>
  expect(within(1000, "it", Promise.reject(new RangeError("no")))).rejects.toThrow(RangeError));
test("work that takes longer fails, and the error names the work", async () => {
  await expect(within(5, "reading x", never)).rejects.toThrow("reading x took longer than 5 ms");
  await expect(within(5, "reading x", never)).rejects.toThrow(DeadlineError);
});
test("a failure after the deadline is not an unhandled rejection", async () => {
  const { promise, reject } = Promise.withResolvers<never>();
  await expect(within(1, "it", promise)).rejects.toThrow(DeadlineError);
  reject(new Error("too late")); // an unhandled rejection would fail the test run
  await sleep(0);
});
