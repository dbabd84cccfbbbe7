import fc from "fast-check";
import { expect, test } from "vitest";
import { CLAIM_MS } from "../../../edge/reading/claims.ts";
import { pageMemory } from "../../../edge/versions/page-memory.ts";
import type { ItemIndex } from "../../../shared/ids.ts";
import { encodeUserPage, encodeUserRecord, openUserPage, recordInPage } from "../../../shared/user-records.ts";
import { emptyUserPage } from "../../fixtures/user-page.ts";

const NOW = 0;
/** Bytes that it counts for a page. */
const sizeOf = (page: ReturnType<typeof emptyUserPage>) => {
  const alone = pageMemory(1e9, () => 1e9);
  alone.keep("a", page, NOW);
  return alone.bytes();
};
const SIZE = sizeOf(emptyUserPage(1000));

test("what was used least recently goes first, and its memory with it", () => {
  const memory = pageMemory(2 * SIZE, () => 1e9);
  const [a, b, c] = [emptyUserPage(1000), emptyUserPage(1000), emptyUserPage(1000)];
  memory.keep("a", a, NOW);
  memory.keep("b", b, NOW);
  expect(memory.get("a")).toBe(a);
  memory.keep("c", c, NOW);
  expect(["a", "b", "c"].map((key) => memory.get(key))).toEqual([a, undefined, c]);
  expect([a, b, c].map((page) => page.bytes.length > 0)).toEqual([true, false, true]);
});
test("a record outlives its page", () => {
  const seen = encodeUserRecord({ items: [3], times: [5], seen: [1, 3] }, 9);
  const hash = { high: 1, low: 1 };
  const bytes = encodeUserPage({ firstHigh: 0, lastHigh: 9, users: [{ hash, record: seen }] });
  const page = openUserPage(bytes);
  const roomy = pageMemory(1e6, () => 1e6);
  roomy.keep("a", page, NOW);
  const record = recordInPage(roomy.get("a")!, hash, 9)!;
  roomy.keep("a", openUserPage(bytes.slice()), NOW);
  expect(page.bytes.length).toBe(0);
  expect([1, 2, 3].map((item) => record.hasSeen(item as ItemIndex))).toEqual([true, false, true]);
});
test("a page counts with all its bytes", () => expect(SIZE).toBeGreaterThanOrEqual(emptyUserPage(1000).bytes.length));
test("when a version takes the room, pages go", () => {
  let room = 10 * SIZE;
  const memory = pageMemory(1e9, () => room);
  for (const key of "abcdefgh") memory.keep(key, emptyUserPage(1000), NOW);
  expect(memory.bytes()).toBe(8 * SIZE);
  room = 3 * SIZE;
  memory.trim(NOW);
  expect([..."abcdefgh"].filter((key) => memory.get(key))).toEqual(["f", "g", "h"]);
  room = 0;
  memory.trim(NOW);
  expect(memory.bytes()).toBe(0);
});
test("a page larger than all the room pushes nothing out", () => {
  const memory = pageMemory(3 * SIZE, () => 1e9);
  memory.keep("a", emptyUserPage(1000), NOW);
  memory.keep("giant", emptyUserPage(100_000), NOW);
  expect([memory.get("a") !== undefined, memory.get("giant")]).toEqual([true, undefined]);
});
test("a page is claimed by one at a time, until it is released or the claim is old", () => {
  const memory = pageMemory(1e6, () => 1e6);
  const claim = (nowMs: number, key = "a") => memory.claim(key, { length: 1000 }, nowMs);
  expect([claim(0), claim(0), claim(CLAIM_MS - 1), claim(0, "b")]).toEqual([true, false, false, true]);
  memory.release("a");
  expect([claim(1), claim(1)]).toEqual([true, false]);
  expect([claim(1 + CLAIM_MS), claim(1 + CLAIM_MS)]).toEqual([true, false]);
});
test("a page that would not be kept is everybody's to read", () => {
  const memory = pageMemory(1000, () => 1e6);
  expect([1, 2].map(() => memory.claim("a", { length: 1001 }, NOW))).toEqual([true, true]);
});
test("0 bytes keep nothing", () => {
  const memory = pageMemory(0, () => 1e9);
  memory.keep("a", emptyUserPage(1000), NOW);
  expect([memory.get("a"), memory.bytes()]).toEqual([undefined, 0]);
});

const SIZES = [0, 10, 500, 3000];
const step = fc.oneof(
  fc.record({ kind: fc.constant("get" as const), key: fc.nat(8) }),
  fc.record({ kind: fc.constant("keep" as const), key: fc.nat(8), bytes: fc.constantFrom(...SIZES) }),
  fc.record({ kind: fc.constant("room" as const), bytes: fc.nat(20_000) }),
);
test("never more than its bytes and the room; what it gives is what was last kept under the name", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.nat(20_000), (steps, bytesMax) => {
      let room = 20_000;
      const memory = pageMemory(bytesMax, () => room);
      const last = new Map<number, ReturnType<typeof emptyUserPage>>();
      for (const own of steps) {
        if (own.kind === "keep") {
          last.set(own.key, emptyUserPage(own.bytes));
          memory.keep(String(own.key), last.get(own.key)!, NOW);
        } else if (own.kind === "room") {
          room = own.bytes;
          memory.trim(NOW);
        } else expect([undefined, last.get(own.key)]).toContain(memory.get(String(own.key)));
        expect(memory.bytes()).toBeLessThanOrEqual(Math.min(bytesMax, room));
        const kept = Array.from({ length: 9 }, (_, key) => memory.get(String(key))).filter(
          (page) => page !== undefined,
        );
        expect(memory.bytes()).toBe(kept.reduce((sum, page) => sum + sizeOf(page), 0));
      }
    }),
  );
});
