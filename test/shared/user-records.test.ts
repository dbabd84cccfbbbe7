import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FormatError } from "../../shared/assert.ts";
import { encodeContainer } from "../../shared/container.ts";
import { crc32 } from "../../shared/crc32.ts";
import type { Hash64 } from "../../shared/hash.ts";
import type { ItemIndex } from "../../shared/ids.ts";
import {
  compareHashes,
  decodeUserDirectory,
  encodeUserDirectory,
  encodeUserPage,
  encodeUserRecord,
  GIANT_PAGE_BYTES_MAX,
  type PageContent,
  pageBytesOf,
  pageWithout,
  RECORD_HISTORY_MAX,
  RECORD_VALUES_MAX,
} from "../../shared/user-records.ts";
import { decodeUserPage } from "../fixtures/user-page.ts";

const ITEMS = 1000;
const HIGH_MAX = 2 ** 32 - 1;
const rising = (numbers: readonly number[]) => [...new Set(numbers)].sort((a, b) => a - b);

const record = fc
  .tuple(
    fc.array(fc.tuple(fc.nat(ITEMS - 1), fc.nat(HIGH_MAX)), { maxLength: 20 }),
    fc.array(fc.nat(ITEMS - 1)),
    fc.array(fc.nat(255), { maxLength: RECORD_VALUES_MAX }),
  )
  .map(([history, others, values]) => ({
    values: rising(values),
    items: history.map(([item]) => item),
    times: history.map(([, time]) => time).sort((a, b) => a - b),
    seen: rising([...history.map(([item]) => item), ...others]),
  }));
const hash = fc.record({ high: fc.constantFrom(0, 1, 5, HIGH_MAX), low: fc.constantFrom(0, 1, 7, HIGH_MAX) });
const users = fc
  .uniqueArray(fc.record({ hash, content: record }), { selector: (user) => `${user.hash.high} ${user.hash.low}` })
  .map((all) => all.sort((a, b) => compareHashes(a.hash, b.hash)));

const pageOf = (all: readonly { hash: Hash64; content: Parameters<typeof encodeUserRecord>[0] }[]) =>
  encodeUserPage({
    firstHigh: 0,
    lastHigh: HIGH_MAX,
    users: all.map(({ hash: name, content }) => ({ hash: name, record: encodeUserRecord(content, ITEMS) })),
  });

test("every user's record is read back from its page, and no record for other users", () =>
  fc.assert(
    fc.property(users, hash, (all, stranger) => {
      const page = pageOf(all);
      expect(page.length % 8).toBe(0);
      for (const { hash: name, content } of all) {
        const read = decodeUserPage(page, name, ITEMS)!;
        expect(read.items).toEqual(content.items);
        expect(read.times).toEqual(content.times);
        expect(read.values).toEqual(content.values);
        expect(content.seen.every((item) => read.hasSeen(item as ItemIndex))).toBe(true);
      }
      const isKnown = all.some((user) => compareHashes(user.hash, stranger) === 0);
      expect(decodeUserPage(page, stranger, ITEMS) !== undefined).toBe(isKnown);
    }),
  ));

const ann = { hash: { high: 5, low: 7 }, content: { items: [5, 300], times: [100, 160], seen: [5, 300] } };

const withValues = (values: readonly number[]) => encodeUserRecord({ ...ann.content, values }, ITEMS);
const newcomer = { items: [], times: [], seen: [], values: [3] };

test("a page without some users has as many bytes, and the records of the others", () =>
  fc.assert(
    fc.property(users, fc.array(fc.boolean(), { minLength: 16 }), (all, removed) => {
      const page = pageOf(all);
      const gone = all.filter((_, at) => removed[at]);
      const isGone = (given: Hash64) => gone.some((user) => compareHashes(user.hash, given) === 0);
      const smaller = pageWithout(page, isGone);
      expect(smaller === undefined).toBe(gone.length === 0);
      if (smaller === undefined) return;
      expect(smaller.length).toBe(page.length);
      const again = pageWithout(smaller, isGone);
      expect(again).toBeUndefined();
      for (const user of all) {
        const found = decodeUserPage(smaller, user.hash, ITEMS);
        if (isGone(user.hash)) expect(found).toBeUndefined();
        else expect(found!.items).toEqual(decodeUserPage(page, user.hash, ITEMS)!.items);
      }
      // The bytes after the last record are zeros: nothing of a removed record is left.
      const end = smaller.length - smaller.toReversed().findIndex((byte) => byte !== 0);
      const kept = all
        .filter(({ hash }) => !isGone(hash))
        .map(({ content }) => encodeUserRecord(content, ITEMS).length);
      expect(end).toBeLessThanOrEqual(
        pageBytesOf(
          kept.length,
          kept.reduce((sum, length) => sum + length, 0),
        ),
      );
    }),
  ));

test("a record without values has the bytes of format 1, and the first number says whether there are values", () => {
  expect(withValues([])).toEqual(encodeUserRecord(ann.content, ITEMS));
  expect([...withValues([3, 7])]).toEqual([0x82, 0x08, 2, 3, 7, ...encodeUserRecord(ann.content, ITEMS).slice(1)]);
  expect(encodeUserRecord(newcomer, ITEMS)).toHaveLength(7);
});

test("the largest number of values is read back", () => {
  const values = Array.from({ length: RECORD_VALUES_MAX }, (_, i) => 255 - RECORD_VALUES_MAX + i);
  const page = pageOf([{ hash: ann.hash, content: { ...ann.content, values } }]);
  expect(decodeUserPage(page, ann.hash, ITEMS)!.values).toEqual(values);
});

test("values that do not rise, are too many or too large are a bug of the writer", () => {
  const many = Array.from({ length: RECORD_VALUES_MAX + 1 }, (_, i) => i);
  for (const values of [[7, 3], [3, 3], [256], many]) expect(() => withValues(values)).toThrow();
});

test.each([
  ["a count of 0 values", [0x80, 0x08, 0, 0, 0, 0], "0 values"],
  ["too many values", [0x80, 0x08, 33, ...Array.from({ length: 33 }, (_, i) => i), 0, 0, 0], "33 values"],
  ["values that do not rise", [0x80, 0x08, 2, 7, 7, 0, 0, 0], "values do not rise"],
  ["a history beyond the limit after values", [0xe9, 0x0f, 1, 7, 0, 0, 0], "a history of 1001"],
  ["a number between the largest history and values", [0xff, 0x07, 0, 0, 0], "a history of 1023"],
])("a record with %s is refused", (_, bytes, message) => {
  const page = { firstHigh: 0, lastHigh: HIGH_MAX, users: [{ hash: ann.hash, record: Uint8Array.from(bytes) }] };
  expect(() => decodeUserPage(encodeUserPage(page), ann.hash, ITEMS)).toThrow(message);
});

test("the example in the header comment", () => {
  const bytes = encodeUserRecord(ann.content, ITEMS);
  expect(Buffer.from(bytes).toString("hex")).toBe("0205ac02643c000602d09701");
});

test("any flipped bit of a page is refused", () => {
  const page = pageOf([ann]);
  for (let bit = 0; bit < page.length * 8; bit++) {
    const flipped = page.slice();
    flipped[bit >> 3]! ^= 1 << (bit & 7);
    expect(() => decodeUserPage(flipped, ann.hash, ITEMS)).toThrow(FormatError);
  }
});

test("a page cut anywhere, or with bytes after it, is refused", () => {
  const page = pageOf([ann]);
  for (let length = 0; length < page.length; length++)
    expect(() => decodeUserPage(page.slice(0, length), ann.hash, ITEMS)).toThrow(FormatError);
  const longer = new Uint8Array(page.length + 8);
  longer.set(page);
  expect(() => decodeUserPage(longer, ann.hash, ITEMS)).toThrow("checksum");
  expect(() => decodeUserPage(new Uint8Array(GIANT_PAGE_BYTES_MAX + 8), ann.hash, ITEMS)).toThrow("expected 16 to");
});

test("a page that covers other hashes is refused, since the user may be on another page", () => {
  const page = encodeUserPage({ firstHigh: 3, lastHigh: 9, users: [] });
  expect(decodeUserPage(page, { high: 3, low: 0 }, ITEMS)).toBeUndefined();
  expect(decodeUserPage(page, { high: 9, low: 0 }, ITEMS)).toBeUndefined();
  for (const high of [2, 10]) expect(() => decodeUserPage(page, { high, low: 0 }, ITEMS)).toThrow("the wrong page");
});

describe("pages with a right checksum but wrong content are refused", () => {
  /** Ann's page with one word changed and a new checksum. */
  const forged = (at: number, word: number) => {
    const page = pageOf([ann]);
    const view = new DataView(page.buffer);
    view.setUint32(at, word, true);
    view.setUint32(0, crc32(page.subarray(4)), true);
    return page;
  };
  test.each([
    ["many more records than bytes", 4, 1000, "do not fit"],
    ["one record more than there are bytes", 4, 3, "do not fit"],
    ["a record that ends before it begins", 24, 27, "record 0 lies at"],
    ["a record that ends beyond the page", 24, 4000, "record 0 lies at"],
    ["a record cut short", 24, 30, "expected"],
  ])("%s", (_, at, word, sentence) => {
    expect(() => decodeUserPage(forged(at, word), ann.hash, ITEMS)).toThrow(FormatError);
    expect(() => decodeUserPage(forged(at, word), ann.hash, ITEMS)).toThrow(sentence);
  });
  test("a record that begins among the entries", () => {
    const bob = { ...ann, hash: { high: 5, low: 8 } };
    const page = pageOf([ann, bob]);
    const view = new DataView(page.buffer);
    view.setUint32(24, 38, true); // where ann's record ends and bob's begins
    view.setUint32(0, crc32(page.subarray(4)), true);
    expect(() => decodeUserPage(page, bob.hash, ITEMS)).toThrow("record 1 lies at 38");
  });
  test("the largest page is read, even for a user who is not on it", () => {
    const record = new Uint8Array(GIANT_PAGE_BYTES_MAX - pageBytesOf(1, 4) + 4);
    const page = encodeUserPage({ firstHigh: 0, lastHigh: HIGH_MAX, users: [{ hash: ann.hash, record }] });
    expect(page.length).toBe(GIANT_PAGE_BYTES_MAX);
    expect(decodeUserPage(page, { high: 5, low: 8 }, ITEMS)).toBeUndefined();
  });
  test("a history that is too long", () => {
    const record = new Uint8Array(3000);
    record.set([0xe9, 0x07]); // 1,001
    const page = encodeUserPage({ firstHigh: 0, lastHigh: HIGH_MAX, users: [{ hash: ann.hash, record }] });
    expect(() => decodeUserPage(page, ann.hash, ITEMS)).toThrow("user record: a history of 1001");
  });
  test("an item beyond the catalog, in the history or among the seen", () => {
    expect(() => decodeUserPage(pageOf([ann]), ann.hash, 300)).toThrow("item 300 of 300");
    const notSeen = { ...ann, content: { items: [300], times: [100], seen: [5] } };
    expect(() => decodeUserPage(pageOf([notSeen]), ann.hash, 300)).toThrow("user record: item 300 of 300");
    const onlySeen = { ...ann, content: { items: [], times: [], seen: [5, 300] } };
    expect(() => decodeUserPage(pageOf([onlySeen]), ann.hash, 300)).toThrow(FormatError);
  });
});

test("the longest history is stored, and one entry more is not", () => {
  const long = (count: number) => ({
    items: Array.from({ length: count }, (_, i) => i % ITEMS),
    times: Array.from({ length: count }, (_, i) => i),
    seen: Array.from({ length: ITEMS }, (_, i) => i),
  });
  const page = pageOf([{ hash: ann.hash, content: long(RECORD_HISTORY_MAX) }]);
  expect(decodeUserPage(page, ann.hash, ITEMS)!.items).toHaveLength(RECORD_HISTORY_MAX);
  expect(() => encodeUserRecord(long(RECORD_HISTORY_MAX + 1), ITEMS)).toThrow("a history of at most 1000");
});

test("a page whose users could not be found is not written", () => {
  const bytes = encodeUserRecord(ann.content, ITEMS);
  const page = (content: Partial<PageContent>) => () =>
    encodeUserPage({ firstHigh: 0, lastHigh: 9, users: [], ...content });
  const at = (high: number, low: number) => ({ hash: { high, low }, record: bytes });
  expect(page({ users: [at(10, 0)] })).toThrow("it covers");
  expect(page({ firstHigh: 6, users: [at(5, 0)] })).toThrow("it covers");
  expect(() => directory([0, 10], [16, 16], [1])).toThrow("in one file");
  expect(() => directory([0, 10], [16], [2])).toThrow("in one file");
  expect(page({ users: [at(5, 1), at(5, 1)] })).toThrow("no two have the same");
  expect(page({ users: [at(5, 2), at(5, 1)] })).toThrow("users rise by hash");
  expect(() => encodeUserRecord({ items: [1], times: [], seen: [] }, ITEMS)).toThrow("has its time");
  expect(() => encodeUserRecord({ items: [1, 2], times: [5, 4], seen: [] }, ITEMS)).toThrow("varint");
});

test("pageBytesOf is the size of a page", () => {
  const bytes = encodeUserRecord(ann.content, ITEMS);
  expect(pageOf([ann]).length).toBe(pageBytesOf(1, bytes.length));
});

const salt = Uint8Array.from({ length: 16 }, (_, i) => i * 17);
const directory = (firstHigh: number[], pageBytes: number[], pagesOfFile: number[]) =>
  decodeUserDirectory(encodeUserDirectory({ salt, userCount: 3, itemCount: ITEMS, firstHigh, pageBytes, pagesOfFile }));

test("a directory finds the page that covers a hash, in the right file", () => {
  const read = directory([0, 10, 20, 30], [16, 24, 65_536, 524_288], [1, 3]);
  expect(read).toMatchObject({ salt, userCount: 3, itemCount: ITEMS, pageCount: 4, fileCount: 2 });
  const find = (high: number) => read.find({ high, low: 0 });
  expect(find(0)).toEqual({ file: 0, offset: 0, length: 16 });
  expect(find(9)).toEqual({ file: 0, offset: 0, length: 16 });
  expect(find(10)).toEqual({ file: 1, offset: 0, length: 24 });
  expect(find(29)).toEqual({ file: 1, offset: 24, length: 65_536 });
  expect(find(HIGH_MAX)).toEqual({ file: 1, offset: 65_560, length: 524_288 });
});

test("places are sums of page sizes, for directories of any size", () =>
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 65_536 }), { minLength: 1, maxLength: 300, size: "max" }),
      fc.nat(),
      (eighths, cut) => {
        const first = (cut % eighths.length) + 1; // pages of the first file
        const pagesOfFile = first === eighths.length ? [first] : [first, eighths.length - first];
        const read = directory(
          eighths.map((_, i) => i * 3),
          eighths.map((n) => n * 8),
          pagesOfFile,
        );
        let offset = 0;
        for (const [page, n] of eighths.entries()) {
          if (page === first) offset = 0;
          const file = page < first ? 0 : 1;
          expect(read.find({ high: page * 3 + 2, low: 9 })).toEqual({ file, offset, length: n * 8 });
          offset += n * 8;
        }
      },
    ),
    { numRuns: 30 },
  ));

test("a version without users has a directory", () => {
  const read = directory([], [], []);
  expect(read.find({ high: 0, low: 0 })).toBeUndefined();
});

test("the places of a file's pages are those at which its users are found", () => {
  const content = {
    salt: new Uint8Array(16),
    userCount: 3,
    itemCount: 1,
    firstHigh: [0, 5, 9],
    pageBytes: [16, 32, 8],
  };
  const directory = decodeUserDirectory(encodeUserDirectory({ ...content, pagesOfFile: [2, 1] }));
  const places = [0, 5, 9].map((high) => directory.find({ high, low: 0 }));
  expect([...directory.pagesOf(0), ...directory.pagesOf(1)]).toEqual(places);
});

test("a directory of 160,000 pages has less than a megabyte", () => {
  const pages = Array.from({ length: 160_000 }, (_, i) => i * 26_000);
  const bytes = encodeUserDirectory({
    salt,
    userCount: 10_000_000,
    itemCount: ITEMS,
    firstHigh: pages,
    pageBytes: pages.map(() => 16_384),
    pagesOfFile: Array.from({ length: 40 }, () => 4000),
  });
  expect(bytes.length).toBeLessThan(1_000_000);
  expect(decodeUserDirectory(bytes).find({ high: 26_000 * 4001, low: 0 })).toEqual({
    file: 1,
    offset: 16_384,
    length: 16_384,
  });
});

const file = (first_high: number[], file_first_page: number[], eighths = first_high.length, more: object = {}) =>
  encodeContainer({
    kind: "user-directory",
    metadata: { salt: "00".repeat(16), user_count: 1, item_count: 1, ...more },
    arrays: {
      first_high: Uint32Array.from(first_high),
      eighths_less_1: new Uint16Array(eighths),
      file_first_page: Uint32Array.from(file_first_page),
    },
  });
const about = (more: object) => file([0], [0], 1, more);
test("the directory from which the wrong ones are made is valid", () =>
  expect(decodeUserDirectory(about({})).pageCount).toBe(1));
test.each<[string, Uint8Array, string]>([
  ["pages that do not begin with 0", file([1, 2], [0]), "do not follow"],
  ["pages that do not rise", file([0, 2, 2], [0]), "do not follow"],
  ["a file that begins beyond the pages", file([0], [0, 1]), "do not follow"],
  ["a last file that begins beyond the pages", file([0, 1, 2], [0, 1, 3]), "do not follow"],
  ["files that do not begin with 0", file([0, 1], [1]), "do not follow"],
  ["pages without files", file([0], []), "do not follow"],
  ["files without pages", file([], [0]), "do not follow"],
  ["too few lengths", file([0, 1], [0], 1), "expected 2 elements, found 1"],
  ["a salt that is not hex", about({ salt: `${"00".repeat(16)}zz` }), "metadata"],
  ["a salt that only ends as hex", about({ salt: `zz${"00".repeat(16)}` }), "metadata"],
  ["a negative number of users", about({ user_count: -1 }), "metadata"],
  ["a negative number of items", about({ item_count: -1 }), "metadata"],
])("a directory with %s is refused", (_, bytes, sentence) => {
  expect(() => decodeUserDirectory(bytes)).toThrow(FormatError);
  expect(() => decodeUserDirectory(bytes)).toThrow(sentence);
});

test("a salt has at least 16 bytes", () =>
  expect(() =>
    encodeUserDirectory({
      salt: new Uint8Array(15),
      userCount: 0,
      itemCount: 0,
      firstHigh: [],
      pageBytes: [],
      pagesOfFile: [],
    }),
  ).toThrow());
