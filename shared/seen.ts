/**
 * Stores the items that one user has seen, in as few bytes as possible. The service guarantees that a seen item is never returned.
 *
 * Idea. There are three forms, distinguished by the first byte. The writer takes the shortest.
 *
 *     0 | r | count varint | bits    exact: the gaps between rising indices, Rice-coded with parameter r
 *     1 | bits                       exact: one bit per item of the catalog
 *     2 | hashCount | bits           a bloom filter (shared/bloom.ts), sized for one false positive in a thousand
 *
 * A gap g is the next index − this one − 1; the first one counts from −1. It is written as g >> r ones, a zero, and the low r bits of g,
 * highest first. Bits fill bytes starting at the lowest bit, and the last byte is padded with zeros (Rice, 1979). n of N items take about
 * log2(N/n) + 1.5 bits each: 50,000 of a million take 37 kB, while a Bloom filter would need 94 kB. Popular items have small indices, so
 * real gaps are smaller still. The Bloom filter is shortest for few items of a large catalog, by a fifth; the bitmap for users who have
 * seen more than a third of a small catalog.
 *
 * Example. Items 1, 2, 6 of 8: gaps 1, 0, 3 with r = 1 are 0 1 · 0 0 · 1 0 1: bytes 00 01 03 52. As a bitmap 01 46,
 * which is shorter.
 *
 * Limits: indices below 2^32. A reader refuses counts, gaps and lengths that do not fit the catalog.
 */
import { assert, FormatError } from "./assert.ts";
import { addToBloom, createBloom, isInBloom } from "./bloom.ts";
import {
  type ByteSource,
  bytesOf,
  createSink,
  putByte,
  putBytes,
  putVarint,
  takeByte,
  takeVarint,
} from "./byte-sink.ts";
import type { ItemIndex } from "./ids.ts";

const GAPS = 0;
const BITMAP = 1;
const BLOOM = 2;
/** The fraction of unseen items that may be hidden. */
export const SEEN_FALSE_POSITIVE_RATE = 0.001;

/** `items` are rising item indices without repetition. */
export function encodeSeen(items: ArrayLike<number>, itemCount: number): Uint8Array {
  for (let i = 0; i < items.length; i++)
    assert(items[i]! < itemCount && items[i]! > (items[i - 1] ?? -1), `items rise below ${itemCount} at ${i}`);
  const { parameter, bits } = bestRice(items, itemCount);
  const gapsBytes = 2 + varintBytes(items.length) + Math.ceil(bits / 8);
  const bitmapBytes = 1 + Math.ceil(itemCount / 8);
  const bloom = createBloom(items.length, SEEN_FALSE_POSITIVE_RATE);
  if (gapsBytes <= Math.min(bitmapBytes, 2 + bloom.bytes.length)) return encodeGaps(items, parameter);
  if (bitmapBytes <= 2 + bloom.bytes.length) return encodeBitmap(items, bitmapBytes);

  for (let i = 0; i < items.length; i++) addToBloom(bloom, items[i]!);
  const sink = createSink(2 + bloom.bytes.length);
  putByte(sink, BLOOM);
  putByte(sink, bloom.hashCount);
  putBytes(sink, bloom.bytes);
  return bytesOf(sink);
}

/** A test without false negatives, and with at most one false positive in a thousand unseen items. Throws FormatError. */
export function decodeSeen(bytes: Uint8Array, itemCount: number): (item: ItemIndex) => boolean {
  const source = { bytes, at: 0 };
  const form = takeByte(source);
  if (form === GAPS) {
    const items = takeGaps(source, itemCount);
    return (item) => isInRising(items, item);
  }
  if (form === BITMAP) {
    const bits = bytes.subarray(1);
    if (bits.length !== Math.ceil(itemCount / 8))
      throw new FormatError(`seen: expected a bit for each of ${itemCount} items, found ${bits.length} bytes`);
    return (item) => (bits[item >>> 3]! & (1 << (item & 7))) !== 0;
  }
  if (form !== BLOOM) throw new FormatError(`seen: expected form 0, 1 or 2, found ${form}`);
  const hashCount = takeByte(source);
  const bloom = { bytes: bytes.subarray(source.at), hashCount };
  // Without bits or hashes, the filter would return the same for all items. No writer makes such a filter.
  if (hashCount === 0 || hashCount > 64 || bloom.bytes.length === 0)
    throw new FormatError(
      `seen: expected 1 to 64 hashes and some bits, found ${hashCount} and ${bloom.bytes.length} bytes`,
    );
  return (item) => isInBloom(bloom, item);
}

/** The Rice parameter with the fewest bits, among those near the best one for evenly spread items. */
function bestRice(items: ArrayLike<number>, itemCount: number): { parameter: number; bits: number } {
  const guess = Math.max(0, Math.floor(Math.log2(itemCount / Math.max(1, items.length))));
  let best = { parameter: 0, bits: Infinity };
  for (let parameter = Math.max(0, guess - 4); parameter <= Math.min(31, guess + 1); parameter++) {
    let bits = items.length * (parameter + 1);
    for (let i = 0; i < items.length; i++) bits += gapAt(items, i) >>> parameter;
    if (bits < best.bits) best = { parameter, bits };
  }
  return best;
}

const gapAt = (items: ArrayLike<number>, i: number) => items[i]! - (i === 0 ? -1 : items[i - 1]!) - 1;

function encodeGaps(items: ArrayLike<number>, parameter: number): Uint8Array {
  const sink = createSink();
  putByte(sink, GAPS);
  putByte(sink, parameter);
  putVarint(sink, items.length);
  let byte = 0;
  let filled = 0; // bits of `byte` in use
  const putBit = (bit: number) => {
    byte |= bit << filled++;
    if (filled < 8) return;
    putByte(sink, byte);
    byte = 0;
    filled = 0;
  };
  for (let i = 0; i < items.length; i++) {
    const gap = gapAt(items, i);
    for (let ones = gap >>> parameter; ones > 0; ones--) putBit(1);
    putBit(0);
    for (let bit = parameter - 1; bit >= 0; bit--) putBit((gap >>> bit) & 1);
  }
  if (filled > 0) putByte(sink, byte);
  return bytesOf(sink);
}

function takeGaps(source: ByteSource, itemCount: number): Uint32Array {
  const parameter = takeByte(source);
  const count = takeVarint(source);
  if (parameter > 31 || count > itemCount)
    throw new FormatError(
      `seen: expected at most ${itemCount} items and parameter 31, found ${count} and ${parameter}`,
    );
  const items = new Uint32Array(count);
  let byte = 0;
  let left = 0; // bits of `byte` not yet taken
  const takeBit = () => {
    if (left === 0) {
      byte = takeByte(source);
      left = 8;
    }
    const bit = byte & 1;
    byte >>>= 1;
    left--;
    return bit;
  };
  let item = -1;
  for (let i = 0; i < count; i++) {
    let gap = 0;
    while (takeBit() === 1) gap++;
    for (let bit = 0; bit < parameter; bit++) gap = gap * 2 + takeBit();
    item += gap + 1;
    if (item >= itemCount) throw new FormatError(`seen: item ${item} of ${itemCount}`);
    items[i] = item;
  }
  if (byte !== 0 || source.at !== source.bytes.length) throw new FormatError("seen: bytes are left over");
  return items;
}

function encodeBitmap(items: ArrayLike<number>, bytes: number): Uint8Array {
  const bitmap = new Uint8Array(bytes);
  bitmap[0] = BITMAP;
  for (let i = 0; i < items.length; i++) bitmap[1 + (items[i]! >>> 3)]! |= 1 << (items[i]! & 7);
  return bitmap;
}

const varintBytes = (value: number) => Math.max(1, Math.ceil((32 - Math.clz32(value)) / 7));

function isInRising(rising: Uint32Array, wanted: number): boolean {
  let low = 0;
  let high = rising.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (rising[middle]! < wanted) low = middle + 1;
    else high = middle;
  }
  return rising[low] === wanted;
}
