import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FormatError } from "../../shared/assert.ts";
import { createBloom } from "../../shared/bloom.ts";
import type { ItemIndex } from "../../shared/ids.ts";
import { decodeSeen, encodeSeen, SEEN_FALSE_POSITIVE_RATE } from "../../shared/seen.ts";

const rising = (items: Iterable<number>) => [...new Set(items)].sort((a, b) => a - b);

/** Catalogs of one item to millions, users who saw nothing to everything, indices spread evenly or near 0. */
const cases = fc
  .tuple(
    fc.constantFrom(1, 2, 7, 8, 9, 100, 5000, 1_000_000, 2 ** 31),
    fc.array(fc.nat(999_999), { maxLength: 60, size: "max" }), // evenly spread, as fc.double is not
    fc.boolean(),
  )
  .map(([itemCount, millionths, isCrowded]) => ({
    itemCount,
    items: rising(millionths.map((n) => Math.floor(itemCount * (n / 1e6) ** (isCrowded ? 6 : 1)))),
  }));

test("there are no false negatives, and no false positives in the exact forms", () =>
  fc.assert(
    fc.property(cases, ({ itemCount, items }) => {
      const bytes = encodeSeen(items, itemCount);
      const hasSeen = decodeSeen(bytes, itemCount);
      expect(items.every((item) => hasSeen(item as ItemIndex))).toBe(true);
      if (bytes[0] === 2) return;
      const around = items.flatMap((item) => [item - 1, item + 1]).filter((item) => item >= 0 && item < itemCount);
      const seen = new Set(items);
      for (const item of around) expect(hasSeen(item as ItemIndex)).toBe(seen.has(item));
    }),
    { numRuns: 1000 },
  ));

test("a byte array that does not begin at offset 0 of its buffer is read", () => {
  const bytes = encodeSeen([1, 5], 1000);
  const moved = new Uint8Array(bytes.length + 9).fill(0xff);
  moved.set(bytes, 5);
  const hasSeen = decodeSeen(moved.subarray(5, 5 + bytes.length), 1000);
  expect([0, 1, 2, 5].map((item) => hasSeen(item as ItemIndex))).toEqual([false, true, false, true]);
});

/** Bytes of the shorter exact form, with the Rice parameter for evenly spread items. */
function exactBytes(items: readonly number[], itemCount: number): number {
  const r = Math.max(0, Math.floor(Math.log2(itemCount / Math.max(1, items.length))));
  const bits = items.reduce((sum, item, i) => sum + ((item - (items[i - 1] ?? -1) - 1) >>> r) + 1 + r, 0);
  return Math.min(3 + Math.ceil(bits / 8), 1 + Math.ceil(itemCount / 8));
}

test("the shortest form is chosen, and an exact form if a Bloom filter is not shorter", () =>
  fc.assert(
    fc.property(cases, ({ itemCount, items }) => {
      const exact = exactBytes(items, itemCount);
      const bloom = 2 + createBloom(items.length, SEEN_FALSE_POSITIVE_RATE).bytes.length;
      const bytes = encodeSeen(items, itemCount);
      expect(bytes.length).toBeLessThanOrEqual(Math.min(exact, bloom));
      if (bloom >= exact) expect(bytes[0]).toBeLessThan(2);
    }),
    { numRuns: 1000 },
  ));

const every = (step: number, count: number) => Array.from({ length: count }, (_, i) => i * step);

describe("the shortest form is taken", () => {
  test.each<[string, number[], number, number, number]>([
    ["nothing seen", [], 1_000_000, 0, 3],
    ["a user with 50,000 of a million items fits 48 KiB", every(20, 50_000), 1_000_000, 0, 48 * 1024],
    ["a user with 300 of 4,000", every(13, 300), 4000, 0, 200],
    ["half of a tiny catalog", every(2, 50), 100, 1, 14],
    ["everything", every(1, 1000), 1000, 1, 126],
    ["a few of ten million", [1, 9, 77, 1e6, 3e6, 5e6, 9e6, 9.5e6].map(Math.floor), 10_000_000, 2, 19],
  ])("%s", (_, items, itemCount, form, bytesMax) => {
    const bytes = encodeSeen(items, itemCount);
    expect(bytes[0]).toBe(form);
    expect(bytes.length).toBeLessThanOrEqual(bytesMax);
  });
});

test("the example in the header comment, in both exact forms", () => {
  for (const hex of ["00010352", "0146"]) {
    const hasSeen = decodeSeen(Buffer.from(hex, "hex"), 8);
    expect(every(1, 8).filter((item) => hasSeen(item as ItemIndex))).toEqual([1, 2, 6]);
  }
  expect(Buffer.from(encodeSeen([1, 2, 6], 8)).toString("hex")).toBe("0146");
});

test("every item of a catalog, as gaps", () => {
  const hasSeen = decodeSeen(Buffer.from("00000800", "hex"), 8);
  expect(every(1, 8).every((item) => hasSeen(item as ItemIndex))).toBe(true);
  expect(hasSeen(8 as ItemIndex)).toBe(false);
});

test("over many users, at most one unseen item in a thousand is hidden", () => {
  const itemCount = 2_000_000;
  let hidden = 0;
  let asked = 0;
  let blooms = 0;
  for (let user = 0; user < 400; user++) {
    const items = rising(
      Array.from({ length: 1 + (user % 40) }, (_, i) => (user * 7919 + i * i * 104_729) % itemCount),
    );
    const bytes = encodeSeen(items, itemCount);
    blooms += Number(bytes[0] === 2);
    const hasSeen = decodeSeen(bytes, itemCount);
    const seen = new Set(items);
    for (let item = user; item < itemCount; item += 997) {
      if (seen.has(item)) continue;
      asked++;
      hidden += Number(hasSeen(item as ItemIndex));
    }
  }
  expect(blooms).toBeGreaterThan(100); // otherwise the test is meaningless
  expect(hidden / asked).toBeLessThan(SEEN_FALSE_POSITIVE_RATE);
});

test.each<[string, string, number]>([
  ["no bytes", "", 8],
  ["an unknown form", "030a46", 8],
  ["more items than the catalog has", "000009ffff", 8],
  ["a parameter that no writer uses", "0020010000000000", 8],
  ["an item beyond the catalog", "00010352", 6],
  ["gaps cut off", "000103", 8],
  ["an unlimited run of ones", `000001${"ff".repeat(20)}`, 8],
  ["superfluous bytes", "0001035200", 8],
  ["superfluous bits", "000103d2", 8],
  ["a bitmap that is too short", "0146", 9],
  ["a bitmap that is too long", "014600", 8],
  ["a bloom filter without hashes", "020046", 8],
  ["a bloom filter without bits", "020a", 8],
  ["a bloom filter with 65 hashes", "024146", 8],
])("%s is refused", (_, hex, itemCount) =>
  expect(() => decodeSeen(Buffer.from(hex, "hex"), itemCount)).toThrow(FormatError),
);

test("a count beyond the catalog is refused before memory is allocated", () =>
  expect(() => decodeSeen(Buffer.from("0000ffff3f", "hex"), 8)).toThrow("expected at most 8 items"));

test("items that do not rise, or are outside the catalog, are a bug of the writer", () => {
  for (const items of [[2, 1], [1, 1], [8], [-1]]) expect(() => encodeSeen(items, 8)).toThrow("items rise below 8");
});
