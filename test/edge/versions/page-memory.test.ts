import fc from "fast-check";
import { expect, test } from "vitest";
import { READ_LOCK_MS } from "../../../edge/reading/waiting.ts";
import { pageMemory } from "../../../edge/versions/page-memory.ts";
import type { ItemIndex } from "../../../shared/ids.ts";
import { encodeUserPage, encodeUserRecord, openUserPage, recordInPage } from "../../../shared/user-records.ts";
import { emptyUserPage } from "../../fixtures/user-page.ts";

const NOW = 0;
/** The bytes that the memory counts for a page. */
const sizeOf = (page: ReturnType<typeof emptyUserPage>) => {
  const alone = pageMemory(1e9, () => 1e9);
  alone.put("a", page, NOW);
  return alone.usedBytes();
};
const SIZE = sizeOf(emptyUserPage(1000));

test("the least recently used page is evicted first, and its bytes are freed", () => {
  const memory = pageMemory(2 * SIZE, () => 1e9);
  const [a, b, c] = [emptyUserPage(1000), emptyUserPage(1000), emptyUserPage(1000)];
  memory.put("a", a, NOW);
  memory.put("b", b, NOW);
  expect(memory.get("a")).toBe(a);
  memory.put("c", c, NOW);
  expect(["a", "b", "c"].map((key) => memory.get(key))).toEqual([a, undefined, c]);
  expect([a, b, c].map((page) => page.bytes.length > 0)).toEqual([true, false, true]);
});
test("a record outlives its page", () => {
  const seen = encodeUserRecord({ items: [3], times: [5], seen: [1, 3] }, 9);
  const hash = { high: 1, low: 1 };
  const bytes = encodeUserPage({ firstHigh: 0, lastHigh: 9, users: [{ hash, record: seen }] });
  const page = openUserPage(bytes);
  const roomy = pageMemory(1e6, () => 1e6);
  roomy.put("a", page, NOW);
  const record = recordInPage(roomy.get("a")!, hash, 9)!;
  roomy.put("a", openUserPage(bytes.slice()), NOW);
  expect(page.bytes.length).toBe(0);
  expect([1, 2, 3].map((item) => record.hasSeen(item as ItemIndex))).toEqual([true, false, true]);
});
test("the size of a page includes all its bytes", () =>
  expect(SIZE).toBeGreaterThanOrEqual(emptyUserPage(1000).bytes.length));
test("pages are evicted when a version takes the memory", () => {
  let room = 10 * SIZE;
  const memory = pageMemory(1e9, () => room);
  for (const key of "abcdefgh") memory.put(key, emptyUserPage(1000), NOW);
  expect(memory.usedBytes()).toBe(8 * SIZE);
  room = 3 * SIZE;
  memory.trim(NOW);
  expect([..."abcdefgh"].filter((key) => memory.get(key))).toEqual(["f", "g", "h"]);
  room = 0;
  memory.trim(NOW);
  expect(memory.usedBytes()).toBe(0);
});
test("a page larger than the capacity evicts nothing", () => {
  const memory = pageMemory(3 * SIZE, () => 1e9);
  memory.put("a", emptyUserPage(1000), NOW);
  memory.put("giant", emptyUserPage(100_000), NOW);
  expect([memory.get("a") !== undefined, memory.get("giant")]).toEqual([true, undefined]);
});
test("one request at a time may read a page, until the lock is released or expires", () => {
  const memory = pageMemory(1e6, () => 1e6);
  const lock = (nowMs: number, key = "a") => memory.tryLock(key, { length: 1000 }, nowMs);
  expect([lock(0), lock(0), lock(READ_LOCK_MS - 1), lock(0, "b")]).toEqual([true, false, false, true]);
  memory.unlock("a");
  expect([lock(1), lock(1)]).toEqual([true, false]);
  expect([lock(1 + READ_LOCK_MS), lock(1 + READ_LOCK_MS)]).toEqual([true, false]);
});
test("a page that would not be kept is read by every request", () => {
  const memory = pageMemory(1000, () => 1e6);
  expect([1, 2].map(() => memory.tryLock("a", { length: 1001 }, NOW))).toEqual([true, true]);
});
test("a capacity of 0 bytes keeps nothing", () => {
  const memory = pageMemory(0, () => 1e9);
  memory.put("a", emptyUserPage(1000), NOW);
  expect([memory.get("a"), memory.usedBytes()]).toEqual([undefined, 0]);
});

const SIZES = [0, 10, 500, 3000];
const step = fc.oneof(
  fc.record({ kind: fc.constant("get" as const), key: fc.nat(8) }),
  fc.record({ kind: fc.constant("put" as const), key: fc.nat(8), bytes: fc.constantFrom(...SIZES) }),
  fc.record({ kind: fc.constant("room" as const), bytes: fc.nat(20_000) }),
);
test("never more than the limit and the spare memory; `get` returns the page that was last put under the key", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.nat(20_000), (steps, bytesMax) => {
      let room = 20_000;
      const memory = pageMemory(bytesMax, () => room);
      const last = new Map<number, ReturnType<typeof emptyUserPage>>();
      for (const own of steps) {
        if (own.kind === "put") {
          last.set(own.key, emptyUserPage(own.bytes));
          memory.put(String(own.key), last.get(own.key)!, NOW);
        } else if (own.kind === "room") {
          room = own.bytes;
          memory.trim(NOW);
        } else expect([undefined, last.get(own.key)]).toContain(memory.get(String(own.key)));
        expect(memory.usedBytes()).toBeLessThanOrEqual(Math.min(bytesMax, room));
        const kept = Array.from({ length: 9 }, (_, key) => memory.get(String(key))).filter(
          (page) => page !== undefined,
        );
        expect(memory.usedBytes()).toBe(kept.reduce((sum, page) => sum + sizeOf(page), 0));
      }
    }),
  );
});
