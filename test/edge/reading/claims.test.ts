import { expect, test } from "vitest";
import { createClaims, lookOrRead } from "../../../edge/reading/claims.ts";

test("one has the claim, until it is released or its time is over", () => {
  const claims = createClaims(1000);
  const take = (nowMs: number, key = "a") => claims.take(key, nowMs);
  expect([take(0), take(0), take(999), take(0, "b")]).toEqual([true, false, false, true]);
  expect(take(999)).toBe(false); // another's claim is not its end
  claims.release("a");
  expect([take(1), take(1001), take(1001)]).toEqual([true, true, false]);
});

test("who has no claim looks again, and reads after the wait", async () => {
  let nowMs = 0;
  const outlives: Promise<unknown>[] = [];
  const access = { nowMs: () => nowMs, waitUntil: (work: Promise<unknown>) => void outlives.push(work) };
  let found: { value: string | undefined } | undefined;
  const wanted = { look: () => found, claim: () => false, read: async () => "read", waitMs: 100 };
  const seen = lookOrRead(wanted, access);
  found = { value: undefined }; // that there is nothing is an answer too
  expect(await seen).toBeUndefined();
  found = undefined;
  const late = lookOrRead(wanted, access);
  nowMs = 100;
  expect(await late).toBe("read");
  expect(outlives).toHaveLength(1);
});

test("whoever has the claim reads at once; what fails is told to it, not to what outlives it", async () => {
  const outlives: Promise<unknown>[] = [];
  const access = { nowMs: () => 0, waitUntil: (work: Promise<unknown>) => void outlives.push(work) };
  const read = () => Promise.reject(new Error("down"));
  const wanted = { look: () => undefined, claim: () => true, read, waitMs: 100 };
  await expect(lookOrRead(wanted, access)).rejects.toThrow("down");
  expect(await Promise.all(outlives)).toEqual([undefined]);
});
