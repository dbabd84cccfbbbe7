/**
 * How many interactions a version has learnt of each item. An edge reads the page of one item when somebody views it, so the file takes
 * none of its memory.
 *
 *     file   pages of 2,048 items; the last one is filled up with zeros
 *     page   | crc u32 | number of the page u32 | 2,048 × (interactions, positives) u32 |     all little-endian
 *       crc  CRC-32 of all bytes after it, since a digest covers only the whole file
 *
 * A million items take 8 MB.
 */
import { assert, FormatError } from "./assert.ts";
import { crc32 } from "./crc32.ts";
import type { ItemIndex } from "./ids.ts";

const PAGE_ITEMS = 2048;
const HEAD_BYTES = 8;
const PAGE_BYTES = HEAD_BYTES + 8 * PAGE_ITEMS;

export type ItemCounts = {
  readonly interactions: number;
  /** How many of the interactions are positive. */
  readonly positives: number;
};

/** @param interactions,positives Uint32Array(itemCount) */
export function encodeItemCounts(interactions: Uint32Array, positives: Uint32Array): Uint8Array {
  assert(interactions.length === positives.length, "an item has both counts");
  const pageCount = Math.ceil(interactions.length / PAGE_ITEMS);
  const file = new Uint8Array(pageCount * PAGE_BYTES);
  const view = new DataView(file.buffer);
  for (let page = 0; page < pageCount; page++) view.setUint32(page * PAGE_BYTES + 4, page, true);
  for (let item = 0; item < interactions.length; item++) {
    const at = byteOf(item);
    view.setUint32(at, interactions[item]!, true);
    view.setUint32(at + 4, positives[item]!, true);
  }
  for (let start = 0; start < file.length; start += PAGE_BYTES)
    view.setUint32(start, crc32(file.subarray(start + 4, start + PAGE_BYTES)), true);
  return file;
}

/** The bytes of the file that have an item's counts. */
export const countsRange = (item: ItemIndex) => ({ offset: pageOf(item) * PAGE_BYTES, length: PAGE_BYTES });

/** The counts of an item, from the bytes of `countsRange`. Throws FormatError. */
export function countsIn(page: Uint8Array, item: ItemIndex): ItemCounts {
  if (page.length !== PAGE_BYTES)
    throw new FormatError(`item counts: expected ${PAGE_BYTES} bytes, found ${page.length}`);
  const view = new DataView(page.buffer, page.byteOffset, page.byteLength);
  if (view.getUint32(0, true) !== crc32(page.subarray(4))) throw new FormatError("item counts: the checksum differs");
  if (view.getUint32(4, true) !== pageOf(item))
    throw new FormatError(`item counts: expected page ${pageOf(item)}, found ${view.getUint32(4, true)}`);
  const at = byteOf(item) - pageOf(item) * PAGE_BYTES;
  return { interactions: view.getUint32(at, true), positives: view.getUint32(at + 4, true) };
}

const pageOf = (item: number): number => Math.floor(item / PAGE_ITEMS);
const byteOf = (item: number): number => pageOf(item) * PAGE_BYTES + HEAD_BYTES + 8 * (item % PAGE_ITEMS);
