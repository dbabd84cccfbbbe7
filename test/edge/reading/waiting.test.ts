import { expect, test, vi } from "vitest";
import { createReadLocks, DeadlineError, findOrRead, sleep, within } from "../../../edge/reading/waiting.ts";

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

test("a key has one lock, until it is released or expires", () => {
  const locks = createReadLocks(1000);
  const lock = (nowMs: number, key = "a") => locks.tryLock(key, nowMs);
  expect([lock(0), lock(0), lock(999), lock(0, "b")]).toEqual([true, false, false, true]);
  expect(lock(999)).toBe(false); // locking another key does not release this one
  locks.unlock("a");
  expect([lock(1), lock(1001), lock(1001)]).toEqual([true, true, false]);
});

test("a caller without the lock polls, and reads after the wait", async () => {
  let nowMs = 0;
  const background: Promise<unknown>[] = [];
  const access = { nowMs: () => nowMs, waitUntil: (work: Promise<unknown>) => void background.push(work) };
  let found: { value: string | undefined } | undefined;
  const flight = { find: () => found, tryLock: () => false, read: async () => "read", waitMs: 100 };
  const seen = findOrRead(flight, access);
  found = { value: undefined }; // an absent value is a result too
  expect(await seen).toBeUndefined();
  found = undefined;
  const late = findOrRead(flight, access);
  nowMs = 100;
  expect(await late).toBe("read");
  expect(background).toHaveLength(1);
});

test("the caller with the lock reads at once and gets the error; the background work does not reject", async () => {
  const background: Promise<unknown>[] = [];
  const access = { nowMs: () => 0, waitUntil: (work: Promise<unknown>) => void background.push(work) };
  const read = () => Promise.reject(new Error("down"));
  const flight = { find: () => undefined, tryLock: () => true, read, waitMs: 100 };
  await expect(findOrRead(flight, access)).rejects.toThrow("down");
  expect(await Promise.all(background)).toEqual([undefined]);
});
