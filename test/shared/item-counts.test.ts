import fc from "fast-check";
import { expect, test } from "vitest";
import { FormatError } from "../../shared/assert.ts";
import type { ItemIndex } from "../../shared/ids.ts";
import { countsIn, countsRange, encodeItemCounts } from "../../shared/item-counts.ts";

const counts = fc.uint32Array({ minLength: 1, maxLength: 5000 });
const pageOf = (file: Uint8Array, item: number) => {
  const { offset, length } = countsRange(item as ItemIndex);
  return file.slice(offset, offset + length);
};

test("an item's page has its counts, and any changed bit is found", () => {
  fc.assert(
    fc.property(counts, fc.nat(), fc.nat(), fc.nat(7), (interactions, at, byte, bit) => {
      const item = (at % interactions.length) as ItemIndex;
      const positives = interactions.map((count) => count >>> 1);
      const page = pageOf(encodeItemCounts(interactions, positives), item);
      expect(countsIn(page, item)).toEqual({ interactions: interactions[item], positives: positives[item] });
      page[byte % page.length]! ^= 1 << bit;
      expect(() => countsIn(page, item)).toThrow(FormatError);
    }),
    { numRuns: 50 },
  );
});

test("the wrong page and a short one are found", () => {
  const file = encodeItemCounts(new Uint32Array(5000), new Uint32Array(5000));
  expect(() => countsIn(pageOf(file, 0), 4999 as ItemIndex)).toThrow("expected page 2, found 0");
  expect(() => countsIn(pageOf(file, 0).subarray(8), 0 as ItemIndex)).toThrow("bytes");
});
