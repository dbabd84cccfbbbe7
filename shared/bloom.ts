/**
 * A Bloom filter over item indices: a set with false positives but no false negatives.
 *
 * Idea (Bloom, 1970). All of the `bitCount` bits start as 0. To add an item, `hashCount` hashes of it select bits, which are set to 1. An
 * item may have been added if all its bits are 1; it was certainly not added if one of them is 0. With n items, the fraction of set bits
 * is 1 − e^(−hashCount·n/bitCount), and `falsePositiveRate` is that fraction to the power of hashCount. The rate is lowest for hashCount
 * = log2(1/rate), where half the bits are set and an item takes 1.44·log2(1/rate) bits.
 *
 *     item 7 ─ hashes ─→ 3, 9, 12          item 4 ─→ 9, 12, 14: bit 14 is 0, so 4 was never added
 *     bit    0  1  2  3  4  5  6  7 | 8  9 10 11 12 13 14 15
 *            0  0  0  1  0  0  0  0 | 0  1  0  0  1  0  0  0      bytes 08 12 (bit b is bit b mod 8 of byte b/8)
 *
 * All hashes are derived from two by enhanced double hashing (Dillinger and Manolios, 2004): x, y = the MurmurHash3 of the index with
 * seeds 0 and 1; bit i is x mod bitCount, then x += y, y += i.
 *
 * Sizes at a rate of one in a thousand: 10 hashes, 15 bits an item; 40 bytes for 20 items, 1.9 kB for 1,000 items. Small filters need a
 * little more than the formula says, since their fraction of set bits varies. The surplus below was measured to keep every size under the
 * rate.
 */
import { assert } from "./assert.ts";
import { murmur3OfInteger } from "./hash.ts";

export type Bloom = {
  /** The bits, starting with the lowest bit of byte 0. bitCount is 8 × length. */
  readonly bytes: Uint8Array;
  readonly hashCount: number;
};

const SURPLUS = 1.04;
const SURPLUS_BITS = 12;
const BYTES_MIN = 6; // with only 4 bytes, two items would share all their bits once in 2^10

/** An empty filter for this number of items at this rate. */
export function createBloom(itemCount: number, falsePositiveRate: number): Bloom {
  assert(falsePositiveRate > 0 && falsePositiveRate < 1, `a rate between 0 and 1, found ${falsePositiveRate}`);
  const hashCount = Math.max(1, Math.round(Math.log2(1 / falsePositiveRate)));
  const bitsPerItem = Math.LOG2E * Math.log2(1 / falsePositiveRate) * SURPLUS;
  const bytes = Math.ceil((itemCount * bitsPerItem + SURPLUS_BITS) / 8);
  return { bytes: new Uint8Array(Math.max(bytes, BYTES_MIN)), hashCount };
}

/** Adds an item, in place. */
export function addToBloom(bloom: Bloom, item: number): void {
  visitBits(bloom, item, (byte, bit) => {
    bloom.bytes[byte]! |= bit;
    return true;
  });
}

/** Whether the item may have been added. False is certain. */
export const isInBloom = (bloom: Bloom, item: number): boolean =>
  visitBits(bloom, item, (byte, bit) => (bloom.bytes[byte]! & bit) !== 0);

/** Whether the visitor returns true for all bits of an item. Stops at the first false. */
function visitBits(bloom: Bloom, item: number, visitor: (byte: number, bit: number) => boolean): boolean {
  const bitCount = bloom.bytes.length * 8;
  let x = murmur3OfInteger(item, 0);
  let y = murmur3OfInteger(item, 1);
  for (let i = 0; i < bloom.hashCount; i++) {
    const bit = x % bitCount;
    if (!visitor(bit >>> 3, 1 << (bit & 7))) return false;
    x = (x + y) >>> 0;
    y = (y + i) >>> 0;
  }
  return true;
}
