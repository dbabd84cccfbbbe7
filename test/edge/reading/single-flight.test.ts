import { expect, test } from "vitest";
import { createReadLocks, findOrRead } from "../../../edge/reading/single-flight.ts";

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
