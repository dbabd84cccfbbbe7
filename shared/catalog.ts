/**
 * The catalog of one version: the bijection item id ↔ item index, small enough for a million items in an isolate.
 *
 * Idea. There is no Map and no string per item. One column holds the ids in index order. A second column, `order`, lists the item indices
 * in the order of their ids, so that an id is found by binary search: 20 comparisons among a million. Nothing is built at load time, and
 * ids chosen by an attacker cannot make a lookup slow, as they could with a hash table.
 *
 *     numbers   `ids` u32 or f64 [itemCount], `order` u32 [itemCount]               8 or 12 bytes an item
 *     text      `bytes` u8, `length_less_1` u8 [itemCount], `order` u32 [itemCount]  bytes of the id + 5¼
 *
 * The form is numbers if the ids come from an integer column and all are within ±(2^53 − 1), and text otherwise. A text id has 1 to 256
 * bytes, so its length less one fits a byte. An id begins at the sum of the lengths before it; every sixteenth sum is kept in memory. Ids
 * of an integer column are ordered by value, others by code point.
 *
 * Example. Ids "b", "ab", "c" as text: bytes 62 61 62 63, length_less_1 00 01 00, order 1 0 2.
 *
 * Limits: 2^32 − 2 items, 2 GiB. A reader checks that `order` contains existing items, but not that it is sorted.
 */
import * as z from "zod";
import { assert, FormatError } from "./assert.ts";
import { arrayOf, type Container, decodeContainer, encodeContainer } from "./container.ts";
import { ID_BYTES_MAX, INTEGER, type ItemId, type ItemIdType, type ItemIndex } from "./ids.ts";
import { bytesAt, countOf, isUtf8, type PackedStrings, stringAt, textOf, utf8Of } from "./packed-strings.ts";

export type Catalog = {
  readonly itemCount: number;
  readonly itemIdType: ItemIdType;
  /** Undefined for an id that was not in the training data. */
  indexOf(id: ItemId): ItemIndex | undefined;
  /** Throws RangeError outside 0…itemCount−1. */
  idAt(item: ItemIndex): ItemId;
  readonly order: Uint32Array; // [itemCount] item indices in the order of their ids
  /** The number of ids below this one, which is its position in `order` if it is in the catalog. */
  countBelow(id: ItemId): number;
  /** Calls `visit` for each item in the order of indices, with its id in UTF-8. The bytes may change after the call. */
  forEachId(visit: VisitId): void;
};

/** The id is `bytes` from `start` up to `end`. */
type VisitId = (item: ItemIndex, bytes: Uint8Array, start: number, end: number) => void;

const KIND = "catalog";
const GROUP = 16; // ids between two stored byte offsets
const MINUS = 0x2d;
const ZERO = 0x30;
const NUMBER_BYTES_MAX = 17; // sixteen digits and a sign
const Metadata = z.object({
  item_count: z.int().nonnegative(),
  item_id_type: z.enum(["string", "integer"]),
  form: z.enum(["numbers", "text"]),
});

/** Index i of `itemIds` is item index i. Ids must be distinct, of 1 to 256 bytes, and canonical for their type. */
export function encodeCatalog(content: { itemIds: PackedStrings; itemIdType: ItemIdType }): Uint8Array {
  const { itemIds, itemIdType } = content;
  const itemCount = countOf(itemIds);
  const numbers = itemIdType === "integer" ? safeIntegersOf(itemIds) : undefined;
  const compareText = itemIdType === "integer" ? compareIntegers : compareSlice;
  const compare = numbers
    ? (a: number, b: number) => numbers[a]! - numbers[b]!
    : (a: number, b: number) => compareText(sliceAt(itemIds, a), bytesAt(itemIds, b));
  const order = Uint32Array.from({ length: itemCount }, (_, item) => item).sort(compare);
  for (let i = 1; i < itemCount; i++)
    assert(compare(order[i - 1]!, order[i]!) < 0, `item id ${JSON.stringify(stringAt(itemIds, order[i]!))} repeats`);

  const metadata = { item_count: itemCount, item_id_type: itemIdType, form: numbers ? "numbers" : "text" };
  if (numbers) {
    const isSmall = numbers.every((id) => id >= 0 && id < 2 ** 32);
    const ids = isSmall ? Uint32Array.from(numbers) : numbers;
    return encodeContainer({ kind: KIND, metadata, arrays: { ids, order } });
  }
  const lengths = Uint8Array.from({ length: itemCount }, (_, item) => {
    const length = bytesAt(itemIds, item).length;
    assert(length >= 1 && length <= ID_BYTES_MAX, `item id ${item} has ${length} bytes`);
    return length - 1;
  });
  const bytes = itemIds.bytes.subarray(itemIds.start[0], itemIds.start[itemCount]);
  return encodeContainer({ kind: KIND, metadata, arrays: { bytes, length_less_1: lengths, order } });
}

/** Throws FormatError. */
export function decodeCatalog(bytes: Uint8Array): Catalog {
  const container = decodeContainer(bytes, KIND, Metadata);
  const { item_count: itemCount, item_id_type: itemIdType, form } = container.metadata;
  const order = arrayOf(container, "order", { dtypes: ["u32"], length: itemCount });
  if (order.some((item) => item >= itemCount)) throw new FormatError(`catalog: order names an item ≥ ${itemCount}`);

  const column = form === "numbers" ? numberColumn(container, itemCount) : textColumn(container, itemCount, itemIdType);
  const countBelow = (id: ItemId) => {
    const compare = column.comparedTo(id);
    let low = 0;
    let high = itemCount;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compare(order[middle]!) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return {
    itemCount,
    itemIdType,
    order,
    countBelow,
    forEachId: column.forEachId,
    indexOf(id) {
      if (itemIdType === "integer" && !INTEGER.test(id)) return undefined; // "007" is not canonical
      const item = order[countBelow(id)];
      return item !== undefined && column.comparedTo(id)(item) === 0 ? (item as ItemIndex) : undefined;
    },
    idAt(item) {
      if (!(item >= 0 && item < itemCount)) throw new RangeError(`no item ${item} of ${itemCount}`);
      return column.idAt(item);
    },
  };
}

/** The ids in index order. `comparedTo(id)(item)` is negative if the item's id is below the given one. */
type IdColumn = {
  idAt(item: number): ItemId;
  comparedTo(id: ItemId): (item: number) => number;
  readonly forEachId: Catalog["forEachId"];
};

function numberColumn(container: Container<unknown>, itemCount: number): IdColumn {
  const ids = arrayOf(container, "ids", { dtypes: ["u32", "f64"], length: itemCount });
  if (!ids.every(Number.isSafeInteger)) throw new FormatError("catalog: an id is not a safe integer");
  return {
    idAt: (item) => String(ids[item]!) as ItemId,
    // A number beyond 2^53 is rounded, but never to a safe integer.
    comparedTo: (id) => {
      const value = Number(id);
      return (item) => ids[item]! - value;
    },
    forEachId(visit) {
      const digits = new Uint8Array(NUMBER_BYTES_MAX);
      for (let item = 0; item < itemCount; item++)
        visit(item as ItemIndex, digits, writeInteger(ids[item]!, digits), digits.length);
    },
  };
}

/** Writes a safe integer in decimal digits to the end of `digits`. Returns where it begins. Faster than a string of it. */
function writeInteger(value: number, digits: Uint8Array): number {
  let start = digits.length;
  let rest = Math.abs(value);
  do {
    const tenth = Math.floor(rest / 10);
    digits[--start] = ZERO + rest - 10 * tenth;
    rest = tenth;
  } while (rest > 0);
  if (value < 0) digits[--start] = MINUS;
  return start;
}

function textColumn(container: Container<unknown>, itemCount: number, itemIdType: ItemIdType): IdColumn {
  const lengths = arrayOf(container, "length_less_1", { dtypes: ["u8"], length: itemCount });
  const bytes = arrayOf(container, "bytes", { dtypes: ["u8"] });
  const groupStart = new Uint32Array(Math.ceil(itemCount / GROUP));
  let end = 0;
  let isCut = false; // whether an id begins inside a character
  for (let item = 0; item < itemCount; item++) {
    if (item % GROUP === 0) groupStart[item / GROUP] = end;
    isCut ||= (bytes[end]! & 0xc0) === 0x80;
    end += lengths[item]! + 1;
  }
  if (end !== bytes.length) throw new FormatError(`catalog: the ids need ${end} bytes, found ${bytes.length}`);
  if (isCut || !isUtf8(bytes)) throw new FormatError("catalog: an id is not UTF-8");

  const startOf = (item: number) => {
    const first = item - (item % GROUP);
    let start = groupStart[first / GROUP]!;
    for (let before = first; before < item; before++) start += lengths[before]! + 1;
    return start;
  };
  const compare = itemIdType === "integer" ? compareIntegers : compareSlice;
  return {
    idAt: (item) => textOf(bytes.subarray(startOf(item), startOf(item) + lengths[item]! + 1)) as ItemId,
    comparedTo: (id) => {
      const text = utf8Of(id);
      return (item) => compare({ bytes, start: startOf(item), length: lengths[item]! + 1 }, text);
    },
    forEachId(visit) {
      for (let item = 0, start = 0; item < itemCount; item++) {
        const end = start + lengths[item]! + 1;
        visit(item as ItemIndex, bytes, start, end);
        start = end;
      }
    },
  };
}

/** Every id as a number, or undefined if one of them is beyond the safe integers. */
function safeIntegersOf(itemIds: PackedStrings): Float64Array | undefined {
  const numbers = new Float64Array(countOf(itemIds));
  for (let item = 0; item < numbers.length; item++) {
    const text = stringAt(itemIds, item);
    assert(INTEGER.test(text), `item id ${JSON.stringify(text)} is not an integer in canonical form`);
    numbers[item] = Number(text);
    if (!Number.isSafeInteger(numbers[item])) return undefined;
  }
  return numbers;
}

const sliceAt = ({ bytes, start }: PackedStrings, index: number): Slice => ({
  bytes,
  start: start[index]!,
  length: start[index + 1]! - start[index]!,
});

/** A part of a longer array. Creating a view would cost more than the comparison. */
type Slice = { readonly bytes: Uint8Array; readonly start: number; readonly length: number };

/** Orders UTF-8 texts by byte, which is the order of code points. */
function compareSlice({ bytes, start, length }: Slice, text: Uint8Array): number {
  const common = Math.min(length, text.length);
  for (let i = 0; i < common; i++) if (bytes[start + i] !== text[i]) return bytes[start + i]! - text[i]!;
  return length - text.length;
}

/** Orders canonical integers by sign, then by number of digits, then digit by digit. */
function compareIntegers(a: Slice, b: Uint8Array): number {
  const isNegative = a.bytes[a.start] === MINUS;
  if (isNegative !== (b[0] === MINUS)) return isNegative ? -1 : 1;
  const size = a.length - b.length || compareSlice(a, b);
  return isNegative ? -size : size;
}
