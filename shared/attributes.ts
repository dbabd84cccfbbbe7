/**
 * Item attributes of one version in a compact form. The edge keeps them in memory, and filters test them (shared/filter).
 *
 * Idea. Every attribute of every item is a *key*: a small number whose order is the order of the values, 0 for missing.
 * So a condition on values is a set of key ranges, whatever the attribute's type. Keys have 8, 16
 * or 32 bits, as few as possible: a million items take 1 to 4 MB per attribute.
 *
 *     Boolean              0 missing, 1 false, 2 true
 *     Category, Text       1 + position in `dictionary`, the distinct texts sorted by code point
 *     CategoryList         one such key for each element; item i's elements are keys[start[i]] … keys[start[i + 1] − 1],
 *                          rising, and an item without elements is missing
 *     Numerical, Timestamp whichever form is smallest without loss:
 *       coded              1 + position in `values`, the distinct numbers, rising
 *       based              1 + value − base, for integers
 *       plain              the value itself as f32 or f64; NaN is missing
 *
 *     Location             has no keys: two i32 of 1e-7 degrees (location-file.ts)
 *
 * Example. Category ["red", missing, "blue", "red"] is dictionary ["blue", "red"], keys u8 [2, 0, 1, 2].
 *
 * Limits: 500 columns with names of at most 1,000 characters, 2^32 − 2 distinct values, 2 GiB. Numbers that are not
 * finite count as missing.
 */

import * as z from "zod";
import { assert, FormatError } from "./assert.ts";
import { countBelowIn } from "./binary-search.ts";
import {
  type ArrayOf,
  arrayOf,
  type Container,
  decodeContainer,
  encodeContainer,
  type TypedArray,
} from "./container.ts";
import { type LocationColumn, Locations, openLocations, packLocations } from "./location-file.ts";
import { bytesAt, compareBytes, countOf, type PackedStrings, packStrings } from "./packed-strings.ts";
import type { Places } from "./place.ts";

/** Typed attribute columns of items or users, aligned with their indices. Missing values are explicit. */
export type AttributeColumn =
  | {
      readonly name: string;
      readonly type: "Numerical" | "Timestamp";
      readonly values: Float64Array; // [count] NaN: missing; Timestamp in epoch seconds
    }
  | {
      readonly name: string;
      readonly type: "Boolean";
      readonly values: Uint8Array; // [count] 0 false, 1 true, 255 missing
    }
  | LocationColumn
  | VectorColumn
  | {
      readonly name: string;
      readonly type: "Category" | "CategoryList" | "Text";
      readonly dictionary: readonly string[];
      /** Row r's values are codes[start[r]] … codes[start[r + 1] − 1]; Category has at most one, none is missing. */
      readonly start: Uint32Array; // [count + 1]
      readonly codes: Uint32Array;
    };

/** Vectors of items, such as what a network makes of their texts or pictures. The files of a version do not have them. */
export type VectorColumn = {
  readonly name: string;
  readonly type: "Vector";
  readonly width: number;
  readonly values: Float32Array; // [count * width]; NaN in all places of a missing vector
};

export type WholeKeys = Uint8Array | Uint16Array | Uint32Array;
type NumberType = "Numerical" | "Timestamp";

export type TableColumn = KeyedColumn | ({ readonly type: "Location" } & Places);
export type KeyedColumn =
  | { readonly type: "Boolean"; readonly keys: WholeKeys }
  | { readonly type: NumberType; readonly form: "coded"; readonly keys: WholeKeys; readonly values: Float64Array }
  | { readonly type: NumberType; readonly form: "based"; readonly keys: WholeKeys; readonly base: number }
  | { readonly type: NumberType; readonly form: "plain"; readonly keys: Float32Array | Float64Array }
  | { readonly type: "Category" | "Text"; readonly keys: WholeKeys; readonly dictionary: PackedStrings }
  | {
      readonly type: "CategoryList";
      readonly keys: WholeKeys;
      readonly dictionary: PackedStrings;
      readonly start: Uint32Array; // [itemCount + 1]
    };

export type AttributeTable = {
  readonly itemCount: number;
  readonly columns: ReadonlyMap<string, TableColumn>;
};

const KIND = "attributes";
const ATTRIBUTES_MAX = 500;
export const NAME_LENGTH_MAX = 1000;
export const CODED_MAX = 65_535; // limit on distinct numbers: above, a key is no smaller than the number itself

const ColumnHeader = z.object({
  name: z.string().max(NAME_LENGTH_MAX),
  type: z.enum(["Boolean", "Numerical", "Timestamp", "Category", "Text", "CategoryList"]),
  form: z.enum(["coded", "based", "plain"]).optional(),
  base: z.int().optional(),
});
type ColumnHeader = z.infer<typeof ColumnHeader>;

const Metadata = z.object({
  item_count: z.int().nonnegative(),
  columns: z.array(ColumnHeader).max(ATTRIBUTES_MAX),
  locations: Locations,
});

/** A column whose values are keys in the file: all but places and vectors. */
export type KeyedAttribute = Exclude<AttributeColumn, LocationColumn | VectorColumn>;
export const isKeyed = (column: AttributeColumn): column is KeyedAttribute =>
  column.type !== "Location" && column.type !== "Vector";

type Packed = { readonly header: ColumnHeader; readonly arrays: Readonly<Record<string, TypedArray>> };

/** Columns must have distinct names, none longer than NAME_LENGTH_MAX, and `itemCount` rows. Vectors are left out. */
export function encodeAttributes(columns: readonly AttributeColumn[], itemCount: number): Uint8Array {
  assert(columns.length <= ATTRIBUTES_MAX, `at most ${ATTRIBUTES_MAX} attributes, found ${columns.length}`);
  assert(new Set(columns.map((column) => column.name)).size === columns.length, "attribute names are distinct");
  const packed = columns.filter(isKeyed).map((column) => packColumn(column, itemCount));
  const places = packLocations(columns, itemCount);
  const arrays = packed.flatMap((column, i) =>
    Object.entries(column.arrays).map(([part, array]) => [`${i}.${part}`, array] as const),
  );
  const metadata = { item_count: itemCount, columns: packed.map((column) => column.header), ...places.metadata };
  const { error } = Metadata.safeParse(metadata);
  assert(
    error === undefined,
    `attributes that no reader would accept: ${error && z.prettifyError(error).slice(0, 300)}`,
  );
  return encodeContainer({ kind: KIND, metadata, arrays: { ...Object.fromEntries(arrays), ...places.arrays } });
}

/** Throws FormatError. */
export function decodeAttributes(bytes: Uint8Array): AttributeTable {
  const container = decodeContainer(bytes, KIND, Metadata);
  const { item_count: itemCount, columns } = container.metadata;
  const named = columns.map((header, i) => [header.name, openColumn(header, { container, i, itemCount })] as const);
  const byName = new Map<string, TableColumn>([...named, ...openLocations(container, itemCount)]);
  if (byName.size !== columns.length + (container.metadata.locations?.length ?? 0))
    throw new FormatError("attributes: two columns have the same name");
  return { itemCount, columns: byName };
}

function packColumn(column: KeyedAttribute, itemCount: number): Packed {
  const { name, type } = column;
  const rows = "start" in column ? column.start.length - 1 : column.values.length;
  assert(rows === itemCount, `attribute ${JSON.stringify(name)} has ${rows} rows for ${itemCount} items`);
  if (column.type === "Boolean") {
    const keys = column.values.map((value) => (value === 255 ? 0 : value + 1));
    return { header: { name, type }, arrays: { keys } };
  }
  if ("values" in column) {
    const { header, arrays } = packNumbers(column.values);
    return { header: { name, type, ...header }, arrays };
  }
  return packTexts(column, itemCount);
}

/** Packs numbers into the smallest of the three forms. */
function packNumbers(given: Float64Array): { header: Pick<ColumnHeader, "form" | "base">; arrays: Packed["arrays"] } {
  const values = given.map((value) => (Number.isFinite(value) ? value + 0 : Number.NaN)); // + 0 turns −0 into 0
  const present = values.filter((value) => !Number.isNaN(value)).sort();
  const distinct = present.filter((value, i) => value !== present[i - 1]);
  const base = distinct[0] ?? 0;
  const span = (distinct.at(-1) ?? 0) - base;
  const isBased = Number.isSafeInteger(base) && span < 2 ** 32 - 1 && distinct.every(Number.isSafeInteger);
  const basedBytes = isBased ? values.length * bytesFor(span + 1) : Infinity;
  const isCoded = distinct.length <= CODED_MAX;
  const codedBytes = isCoded ? values.length * bytesFor(distinct.length) + 8 * distinct.length : Infinity;
  const plain = distinct.every((value) => Math.fround(value) === value) ? Float32Array.from(values) : values;

  if (basedBytes <= Math.min(codedBytes, plain.byteLength)) {
    const keys = wholeKeys(span + 1, values.length);
    for (const [i, value] of values.entries()) keys[i] = Number.isNaN(value) ? 0 : value - base + 1;
    return { header: { form: "based", base }, arrays: { keys } };
  }
  if (codedBytes <= plain.byteLength) {
    const keys = wholeKeys(distinct.length, values.length);
    for (const [i, value] of values.entries()) keys[i] = Number.isNaN(value) ? 0 : countBelow(distinct, value) + 1;
    return { header: { form: "coded" }, arrays: { keys, values: distinct } };
  }
  return { header: { form: "plain" }, arrays: { keys: plain } };
}

function packTexts(column: Extract<AttributeColumn, { dictionary: readonly string[] }>, itemCount: number): Packed {
  const { name, type, start, codes } = column;
  const { dictionary, keyOf } = sortedDictionary(column.dictionary, codes);
  const arrays = { dictionary: dictionary.bytes, dictionary_start: dictionary.start };
  const distinct = countOf(dictionary);
  if (type !== "CategoryList") {
    const keys = wholeKeys(distinct, itemCount);
    for (let item = 0; item < itemCount; item++) {
      assert(start[item + 1]! - start[item]! <= 1, `attribute ${JSON.stringify(name)} has several values for an item`);
      if (start[item + 1]! > start[item]!) keys[item] = keyOf[codes[start[item]!]!]!;
    }
    return { header: { name, type }, arrays: { keys, ...arrays } };
  }
  const keys: number[] = [];
  const keyStart = new Uint32Array(itemCount + 1);
  for (let item = 0; item < itemCount; item++) {
    const sorted = Array.from(codes.subarray(start[item], start[item + 1]), (code) => keyOf[code]!).sort(
      (a, b) => a - b,
    );
    for (const [i, key] of sorted.entries()) if (key !== sorted[i - 1]) keys.push(key);
    keyStart[item + 1] = keys.length;
  }
  const narrow = wholeKeys(distinct, keys.length);
  narrow.set(keys);
  return { header: { name, type }, arrays: { keys: narrow, start: keyStart, ...arrays } };
}

/** The sorted distinct texts that occur, and the key of each old code. */
function sortedDictionary(
  texts: readonly string[],
  codes: Uint32Array,
): { dictionary: PackedStrings; keyOf: Uint32Array } {
  const isUsed = new Uint8Array(texts.length);
  for (const code of codes) {
    assert(code < texts.length, `code ${code} in a dictionary of ${texts.length}`);
    isUsed[code] = 1;
  }
  const packed = packStrings(texts);
  const byText = (a: number, b: number) => compareBytes(bytesAt(packed, a), bytesAt(packed, b));
  const order = Uint32Array.from(texts.keys())
    .filter((code) => isUsed[code])
    .sort(byText);
  const keyOf = new Uint32Array(texts.length);
  const distinct: string[] = [];
  for (const [i, code] of order.entries()) {
    if (i === 0 || byText(order[i - 1]!, code) !== 0) distinct.push(texts[code]!);
    keyOf[code] = distinct.length;
  }
  return { dictionary: packStrings(distinct), keyOf };
}

type ColumnSource = { readonly container: Container<unknown>; readonly i: number; readonly itemCount: number };

function openColumn(header: ColumnHeader, source: ColumnSource): TableColumn {
  const { container, i, itemCount } = source;
  const { type, form } = header;
  const formatError = (sentence: string) => new FormatError(`attributes: ${JSON.stringify(header.name)} ${sentence}`);
  const openKeys = (length: number | undefined, keyMax: number): WholeKeys => {
    const expected = { dtypes: ["u8", "u16", "u32"] as const, ...(length === undefined ? {} : { length }) };
    const keys = arrayOf(container, `${i}.keys`, expected);
    for (let at = 0; at < keys.length; at++)
      if (keys[at]! > keyMax) throw formatError(`has key ${keys[at]}, above the maximum ${keyMax}`);
    return keys;
  };
  if (type === "Boolean") return { type, keys: openKeys(itemCount, 2) };
  if (type === "Numerical" || type === "Timestamp") {
    if (form === "based" && header.base !== undefined)
      return { type, form, keys: openKeys(itemCount, 2 ** 32 - 1), base: header.base };
    if (form === "plain")
      return { type, form, keys: arrayOf(container, `${i}.keys`, { dtypes: ["f32", "f64"], length: itemCount }) };
    if (form !== "coded") throw formatError("has numbers of an unknown form");
    const values = arrayOf(container, `${i}.values`, { dtypes: ["f64"] });
    if (!values.every((value, at) => at === 0 || value > values[at - 1]!))
      throw formatError("has values that do not rise");
    return { type, form, keys: openKeys(itemCount, values.length), values };
  }
  const dictionary = openDictionary(source, formatError);
  if (type !== "CategoryList") return { type, keys: openKeys(itemCount, countOf(dictionary)), dictionary };
  const keys = openKeys(undefined, countOf(dictionary));
  const start = arrayOf(container, `${i}.start`, { dtypes: ["u32"], length: itemCount + 1 });
  if (!isRising(start, keys.length)) throw formatError("has lists that do not follow each other");
  return { type, keys, dictionary, start };
}

function openDictionary({ container, i }: ColumnSource, formatError: (sentence: string) => FormatError): PackedStrings {
  const bytes = arrayOf(container, `${i}.dictionary`, { dtypes: ["u8"] });
  const start = arrayOf(container, `${i}.dictionary_start`, { dtypes: ["u32"] });
  if (!isRising(start, bytes.length)) throw formatError("has a dictionary whose texts do not follow each other");
  const dictionary = { bytes, start };
  for (let at = 1; at < countOf(dictionary); at++)
    if (compareBytes(bytesAt(dictionary, at - 1), bytesAt(dictionary, at)) >= 0)
      throw formatError("has an unsorted dictionary");
  return dictionary;
}

/** Whether offsets go from 0 to the end and never decrease. */
function isRising(start: Uint32Array, end: number): boolean {
  if (start.length === 0 || start[0] !== 0 || start.at(-1) !== end) return false;
  for (let at = 1; at < start.length; at++) if (start[at]! < start[at - 1]!) return false;
  return true;
}

/** The number of values below the given one, in a rising array. */
export const countBelow = (rising: ArrayOf<"f64">, value: number): number =>
  countBelowIn(rising.length, (at) => rising[at]! < value);

const bytesFor = (keyMax: number) => (keyMax < 2 ** 8 ? 1 : keyMax < 2 ** 16 ? 2 : 4);

/** An array of keys up to `keyMax`, in as few bytes as possible. */
export const wholeKeys = (keyMax: number, length: number): WholeKeys =>
  bytesFor(keyMax) === 1
    ? new Uint8Array(length)
    : bytesFor(keyMax) === 2
      ? new Uint16Array(length)
      : new Uint32Array(length);
