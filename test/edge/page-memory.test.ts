import fc from "fast-check";
import { expect, test } from "vitest";
import { pageMemory } from "../../edge/page-memory.ts";
import { encodeUserPage, openUserPage } from "../../shared/user-records.ts";

const NOW = 0;
const pageOf = (recordBytes: number) => {
  const users = [{ hash: { high: 1, low: 1 }, record: new Uint8Array(recordBytes) }];
  return openUserPage(encodeUserPage({ firstHigh: 0, lastHigh: 9, users }));
};
/** Bytes that it counts for a page. */
const sizeOf = (page: ReturnType<typeof pageOf>) => {
  const alone = pageMemory(1e9, () => 1e9);
  alone.keep("a", page, NOW);
  return alone.bytes();
};
const PAGE = pageOf(1000);
const SIZE = sizeOf(PAGE);

test("what was used least recently goes first", () => {
  const memory = pageMemory(2 * SIZE, () => 1e9);
  memory.keep("a", PAGE, NOW);
  memory.keep("b", PAGE, NOW);
  expect(memory.get("a")).toBe(PAGE);
  memory.keep("c", PAGE, NOW);
  expect(["a", "b", "c"].map((key) => memory.get(key))).toEqual([PAGE, undefined, PAGE]);
});
test("a page counts with all its bytes", () => expect(SIZE).toBeGreaterThanOrEqual(PAGE.bytes.length));
test("when a version takes the room, pages go", () => {
  let room = 10 * SIZE;
  const memory = pageMemory(1e9, () => room);
  for (const key of "abcdefgh") memory.keep(key, PAGE, NOW);
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
  memory.keep("a", PAGE, NOW);
  memory.keep("giant", pageOf(100_000), NOW);
  expect([memory.get("a"), memory.get("giant")]).toEqual([PAGE, undefined]);
});
test("0 bytes keep nothing", () => {
  const memory = pageMemory(0, () => 1e9);
  memory.keep("a", PAGE, NOW);
  expect([memory.get("a"), memory.bytes()]).toEqual([undefined, 0]);
});

const pages = [0, 10, 500, 3000].map(pageOf);
const step = fc.oneof(
  fc.record({ kind: fc.constant("get" as const), key: fc.nat(8) }),
  fc.record({ kind: fc.constant("keep" as const), key: fc.nat(8), page: fc.nat(pages.length - 1) }),
  fc.record({ kind: fc.constant("room" as const), bytes: fc.nat(20_000) }),
);
test("never more than its bytes and the room; what it gives is what was last kept under the name", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.nat(20_000), (steps, bytesMax) => {
      let room = 20_000;
      const memory = pageMemory(bytesMax, () => room);
      const last = new Map<number, (typeof pages)[number]>();
      for (const own of steps) {
        if (own.kind === "keep") {
          last.set(own.key, pages[own.page]!);
          memory.keep(String(own.key), pages[own.page]!, NOW);
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
