/**
 * The records of all users, packed so that a rank call reads one user with one range read of one object.
 *
 * Idea. A user is identified by a salted 64-bit hash (shared/hash.ts), and users are sorted by it. Their records are divided into *pages*
 * of about 16 KiB, at most 64 KiB. Pages follow each other in *page files* of at most 64 MiB. Two users with the same high 32 bits of the
 * hash are always on one page, so these bits decide which page to read. The *directory*, which an edge keeps in memory, has 6 bytes per
 * page: 10 million users of 200 bytes are 2 GB in 130,000 pages, with a directory of 0.8 MB. There are no gaps: each page covers all
 * hashes from its first one up to the next page's.
 *
 *     directory   a container (shared/container.ts) of kind "user-directory"; metadata: salt, user_count, item_count
 *       first_high        u32 [pageCount]  the first high word that page p covers; rises; begins with 0
 *       eighths_less_1    u16 [pageCount]  bytes of page p ÷ 8, less one
 *       file_first_page   u32 [fileCount]  the first page of each file; pages lie in their files in order, without gaps
 *
 *     page        | crc u32 | count u32 | first high u32 | last high u32 | count × (high, low, end) u32 | records | pad
 *       crc       CRC-32 of all bytes after it, since a digest covers only whole files and pages are read by range
 *       first, last high   the range of high words that the page covers, so that reading the wrong page is detected
 *       end       where the record ends, from the start of the page; it begins where the record before it ends
 *       pad       zeros up to a multiple of 8, and in the place of records that were removed
 *
 *     record      | n varint | n × item varint | first time varint | n − 1 × delta varint | seen |
 *       items     the newest positive interactions, oldest first, as item indices: popular items have short numbers
 *       times     epoch seconds; each delta is the difference to the time before. Absent if n is 0
 *       seen      shared/seen.ts, to the end of the record
 *
 *     record of a user with values, in versions of format 2 (shared/user-values.ts): n is increased by 1,024 and followed by
 *               | m varint | m × code u8 |, codes rising
 *
 * Example. A user with items 5, 300 at times 100, 160, who has seen items 5, 300 of 1,000: the record is
 * 02 | 05 | AC 02 | 64 | 3C | 00 06 02 D0 97 01 in hex. With the values 3 and 7 it begins with 82 08 | 02 03 07 instead of 02. A
 * new user with one value takes 7 bytes, and 12 for the page's entry.
 *
 * Limits: pages of at most 64 KiB, except that a single record may need more (a user who has seen hundreds of thousands
 * of items), up to 512 KiB; 2^32 users; 1,000 history entries, 32 values. All numbers little-endian.
 */

import * as z from "zod";
import { assert, FormatError } from "./assert.ts";
import { countBelowIn } from "./binary-search.ts";
import {
  type ByteSink,
  type ByteSource,
  bytesOf,
  createSink,
  putByte,
  putBytes,
  putVarint,
  takeByte,
  takeVarint,
} from "./byte-sink.ts";
import { arrayOf, decodeContainer, encodeContainer } from "./container.ts";
import { crc32 } from "./crc32.ts";
import type { Hash64 } from "./hash.ts";
import { hexOf } from "./hash.ts";
import type { ItemIndex } from "./ids.ts";
import { decodeSeen, encodeSeen } from "./seen.ts";
import type { UserRecord } from "./snapshot.ts";

export const PAGE_BYTES_TARGET = 16_384;
/** Limit on a page that holds a single record. */
export const GIANT_PAGE_BYTES_MAX = 8 * 65_536;
export const PAGE_FILE_BYTES_MAX = 64 * 1024 * 1024;
export const RECORD_HISTORY_MAX = 1000;
/** A record holds at most this many values of a user, those with the lowest codes. */
export const RECORD_VALUES_MAX = 32;
/** Added to the length of the history if the user has values; larger than any length. */
const WITH_VALUES = 1024;
const PAGE_HEAD_BYTES = 16;
const ENTRY_BYTES = 12;
const PAGES_PER_GROUP = 64;

/** The place of a page. `file` is the position in the manifest's `users.pages`. */
export type PagePlace = { readonly file: number; readonly offset: number; readonly length: number };

export type UserDirectory = {
  readonly salt: Uint8Array;
  readonly userCount: number;
  readonly itemCount: number;
  readonly pageCount: number;
  readonly fileCount: number;
  /** The only page that can hold this user; undefined if there are no pages. */
  find(hash: Hash64): PagePlace | undefined;
  /** The places of a file's pages, in order. */
  pagesOf(file: number): readonly PagePlace[];
};

const Metadata = z.object({
  salt: z.string().regex(/^([0-9a-f]{2}){16,64}$/),
  user_count: z.int().nonnegative(),
  item_count: z.int().nonnegative(),
});

/** Throws FormatError. */
export function decodeUserDirectory(bytes: Uint8Array): UserDirectory {
  const container = decodeContainer(bytes, "user-directory", Metadata);
  const { salt, user_count: userCount, item_count: itemCount } = container.metadata;
  const firstHigh = arrayOf(container, "first_high", { dtypes: ["u32"] });
  const pageCount = firstHigh.length;
  const eighths = arrayOf(container, "eighths_less_1", { dtypes: ["u16"], length: pageCount });
  const fileFirstPage = arrayOf(container, "file_first_page", { dtypes: ["u32"] });
  const fileCount = fileFirstPage.length;
  const isWhole = isRisingFromZero(firstHigh) && isRisingFromZero(fileFirstPage);
  if (!isWhole || (pageCount === 0) !== (fileCount === 0) || (fileFirstPage.at(-1) ?? -1) >= pageCount)
    throw new FormatError("user-directory: pages or files do not follow each other from 0");

  const lengthOf = (page: number) => (eighths[page]! + 1) * 8;
  const groupStart = startOfGroups(pageCount, lengthOf);
  const startOf = (page: number) => {
    let start = groupStart[Math.floor(page / PAGES_PER_GROUP)]!;
    for (let before = page - (page % PAGES_PER_GROUP); before < page; before++) start += lengthOf(before);
    return start;
  };
  const placeIn = (file: number, page: number): PagePlace => ({
    file,
    offset: startOf(page) - startOf(fileFirstPage[file]!),
    length: lengthOf(page),
  });
  return {
    salt: Uint8Array.from(salt.match(/../g)!, (byte) => Number.parseInt(byte, 16)),
    userCount,
    itemCount,
    pageCount,
    fileCount,
    find({ high }) {
      if (pageCount === 0) return undefined;
      const page = lastAtOrBelow(firstHigh, high);
      return placeIn(lastAtOrBelow(fileFirstPage, page), page);
    },
    pagesOf(file) {
      const first = fileFirstPage[file]!;
      const count = (fileFirstPage[file + 1] ?? pageCount) - first;
      return Array.from({ length: count }, (_, i) => placeIn(file, first + i));
    },
  };
}

export type DirectoryContent = {
  readonly salt: Uint8Array;
  readonly userCount: number;
  readonly itemCount: number;
  /** First high word and size of each page, and the number of pages of each file, in order. */
  readonly firstHigh: readonly number[];
  readonly pageBytes: readonly number[];
  readonly pagesOfFile: readonly number[];
};

export function encodeUserDirectory(content: DirectoryContent): Uint8Array {
  let page = 0;
  const fileFirstPage = Uint32Array.from(content.pagesOfFile, (pages) => {
    page += pages;
    return page - pages;
  });
  assert(page === content.firstHigh.length && page === content.pageBytes.length, "every page lies in one file");
  const salt = hexOf(content.salt);
  return encodeContainer({
    kind: "user-directory",
    metadata: Metadata.parse({ salt, user_count: content.userCount, item_count: content.itemCount }),
    arrays: {
      first_high: Uint32Array.from(content.firstHigh),
      eighths_less_1: Uint16Array.from(content.pageBytes, (bytes) => bytes / 8 - 1),
      file_first_page: fileFirstPage,
    },
  });
}

/** A page whose checksum has been verified. */
export type UserPage = { readonly bytes: Uint8Array; readonly view: DataView; readonly count: number };

/** Throws FormatError for a damaged page. */
export function openUserPage(bytes: Uint8Array): UserPage {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return { bytes, view, count: checkPage(bytes, view) };
}

/** The user's record, or undefined if the user is not on the page. Throws FormatError for the wrong page. */
export function recordInPage(page: UserPage, hash: Hash64, itemCount: number): UserRecord | undefined {
  const [firstHigh, lastHigh] = [page.view.getUint32(8, true), page.view.getUint32(12, true)];
  if (hash.high < firstHigh || hash.high > lastHigh)
    throw new FormatError(`user page: covers ${firstHigh} to ${lastHigh}, not ${hash.high}: the wrong page was read`);
  const at = entryOf(page, hash);
  return at === undefined ? undefined : takeRecord({ bytes: recordBytes(page, at), at: 0 }, itemCount);
}

/** The page without some users in as many bytes, so that the directory stays right. Undefined if it has none of them. */
export function pageWithout(bytes: Uint8Array, isRemoved: (hash: Hash64) => boolean): Uint8Array | undefined {
  const page = openUserPage(bytes);
  const users = Array.from({ length: page.count }, (_, at) => ({ hash: hashAt(page, at), at }));
  const kept = users
    .filter(({ hash }) => !isRemoved(hash))
    .map(({ hash, at }) => ({ hash, record: recordBytes(page, at) }));
  if (kept.length === page.count) return undefined;
  const [firstHigh, lastHigh] = [page.view.getUint32(8, true), page.view.getUint32(12, true)];
  const smaller = new Uint8Array(bytes.length);
  smaller.set(encodeUserPage({ firstHigh, lastHigh, users: kept }));
  new DataView(smaller.buffer).setUint32(0, crc32(smaller.subarray(4)), true);
  return smaller;
}

/** A copy of a record's bytes, which does not need the page any more. */
function recordBytes({ bytes, view, count }: UserPage, at: number): Uint8Array {
  const entriesEnd = PAGE_HEAD_BYTES + count * ENTRY_BYTES;
  const start = at === 0 ? entriesEnd : view.getUint32(PAGE_HEAD_BYTES + (at - 1) * ENTRY_BYTES + 8, true);
  const end = view.getUint32(PAGE_HEAD_BYTES + at * ENTRY_BYTES + 8, true);
  if (start < entriesEnd || end <= start || end > bytes.length)
    throw new FormatError(`user page: record ${at} lies at ${start} to ${end} of ${bytes.length} bytes`);
  return bytes.slice(start, end);
}

export type PageContent = {
  /** The range of high words that the page covers, both included. */
  readonly firstHigh: number;
  readonly lastHigh: number;
  /** Rising by hash. */
  readonly users: readonly { readonly hash: Hash64; readonly record: Uint8Array }[];
};

export function encodeUserPage({ firstHigh, lastHigh, users }: PageContent): Uint8Array {
  const page = new Uint8Array(pageBytesOf(users.length, sum(users.map((user) => user.record.length))));
  const view = new DataView(page.buffer);
  view.setUint32(4, users.length, true);
  view.setUint32(8, firstHigh, true);
  view.setUint32(12, lastHigh, true);
  let end = PAGE_HEAD_BYTES + users.length * ENTRY_BYTES;
  for (const [i, { hash, record }] of users.entries()) {
    assert(hash.high >= firstHigh && hash.high <= lastHigh, "a page holds only users that it covers");
    assert(i === 0 || compareHashes(users[i - 1]!.hash, hash) < 0, "users rise by hash, and no two have the same");
    page.set(record, end);
    end += record.length;
    const entry = PAGE_HEAD_BYTES + i * ENTRY_BYTES;
    view.setUint32(entry, hash.high, true);
    view.setUint32(entry + 4, hash.low, true);
    view.setUint32(entry + 8, end, true);
  }
  view.setUint32(0, crc32(page.subarray(4)), true);
  return page;
}

/** The size of a page with this number of users and bytes of records. */
export const pageBytesOf = (users: number, recordBytes: number): number =>
  Math.ceil((PAGE_HEAD_BYTES + users * ENTRY_BYTES + recordBytes) / 8) * 8;

export const compareHashes = (a: Hash64, b: Hash64): number => a.high - b.high || a.low - b.low;

export type RecordContent = {
  /** Positive interactions, oldest first; `times` in epoch seconds. */
  readonly items: ArrayLike<number>;
  readonly times: ArrayLike<number>;
  readonly seen: ArrayLike<number>; // rising item indices
  readonly values?: ArrayLike<number>; // rising codes of shared/user-values.ts; absent or empty: none
};

export function encodeUserRecord(content: RecordContent, itemCount: number): Uint8Array {
  const { items, times, seen, values = [] } = content;
  assert(items.length === times.length, "every item of a history has its time");
  assert(items.length <= RECORD_HISTORY_MAX, `a history of at most ${RECORD_HISTORY_MAX}, found ${items.length}`);
  const sink = createSink();
  putVarint(sink, values.length > 0 ? WITH_VALUES + items.length : items.length);
  if (values.length > 0) putValues(sink, values);
  for (let i = 0; i < items.length; i++) putVarint(sink, items[i]!);
  for (let i = 0; i < times.length; i++) putVarint(sink, times[i]! - (i === 0 ? 0 : times[i - 1]!));
  putBytes(sink, encodeSeen(seen, itemCount));
  return bytesOf(sink);
}

function putValues(sink: ByteSink, values: ArrayLike<number>): void {
  assert(values.length <= RECORD_VALUES_MAX, `at most ${RECORD_VALUES_MAX} values of a user, found ${values.length}`);
  putVarint(sink, values.length);
  for (let i = 0; i < values.length; i++) {
    assert(values[i]! < 256 && values[i]! > (values[i - 1] ?? -1), `codes of values rise below 256 at ${i}`);
    putByte(sink, values[i]!);
  }
}

function takeRecord(source: ByteSource, itemCount: number): UserRecord {
  const first = takeVarint(source);
  const values = first < WITH_VALUES ? [] : takeValues(source);
  const count = first < WITH_VALUES ? first : first - WITH_VALUES;
  if (count > RECORD_HISTORY_MAX) throw new FormatError(`user record: a history of ${count}`);
  const items = Array.from({ length: count }, () => takeVarint(source) as ItemIndex);
  const outside = items.find((item) => item >= itemCount);
  if (outside !== undefined) throw new FormatError(`user record: item ${outside} of ${itemCount}`);
  let time = 0;
  const times = items.map(() => {
    time += takeVarint(source);
    return time;
  });
  return { items, times, values, hasSeen: decodeSeen(source.bytes.subarray(source.at), itemCount) };
}

function takeValues(source: ByteSource): number[] {
  const count = takeVarint(source);
  if (count === 0 || count > RECORD_VALUES_MAX) throw new FormatError(`user record: ${count} values`);
  const values = Array.from({ length: count }, () => takeByte(source));
  if (!values.every((code, i) => i === 0 || code > values[i - 1]!))
    throw new FormatError("user record: values do not rise");
  return values;
}

/** Checks a page and returns its number of records. */
function checkPage(page: Uint8Array, view: DataView): number {
  if (page.length < PAGE_HEAD_BYTES || page.length > GIANT_PAGE_BYTES_MAX || page.length % 8 !== 0)
    throw new FormatError(`user page: ${page.length} bytes; expected 16 to ${GIANT_PAGE_BYTES_MAX}, a multiple of 8`);
  const expected = view.getUint32(0, true);
  const found = crc32(page.subarray(4));
  if (found !== expected) throw new FormatError(`user page: expected checksum ${expected}, found ${found}`);
  const count = view.getUint32(4, true);
  if (PAGE_HEAD_BYTES + count * ENTRY_BYTES > page.length)
    throw new FormatError(`user page: ${count} records do not fit ${page.length} bytes`);
  return count;
}

/** The position of the user's entry, by binary search. */
function entryOf(page: UserPage, hash: Hash64): number | undefined {
  const at = countBelowIn(page.count, (entry) => compareHashes(hashAt(page, entry), hash) < 0);
  return at < page.count && compareHashes(hashAt(page, at), hash) === 0 ? at : undefined;
}

/** The hash of the user at a position of a page. */
export function hashAt({ view }: UserPage, at: number): Hash64 {
  const entry = PAGE_HEAD_BYTES + at * ENTRY_BYTES;
  return { high: view.getUint32(entry, true), low: view.getUint32(entry + 4, true) };
}

/** The byte at which every 64th page begins, if all files were one. */
function startOfGroups(pageCount: number, lengthOf: (page: number) => number): Float64Array {
  const starts = new Float64Array(Math.ceil(pageCount / PAGES_PER_GROUP));
  let end = 0;
  for (let page = 0; page < pageCount; page++) {
    if (page % PAGES_PER_GROUP === 0) starts[page / PAGES_PER_GROUP] = end;
    end += lengthOf(page);
  }
  return starts;
}

function isRisingFromZero(numbers: Uint32Array): boolean {
  return numbers.every((value, i) => (i === 0 ? value === 0 : value > numbers[i - 1]!));
}

/** The position of the last number at or below the value, in rising numbers that begin with 0. */
const lastAtOrBelow = (rising: Uint32Array, value: number): number =>
  countBelowIn(rising.length, (at) => rising[at]! <= value) - 1;

const sum = (numbers: readonly number[]) => numbers.reduce((total, value) => total + value, 0);
