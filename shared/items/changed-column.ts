/**
 * An attribute column with other values for some items. It is a column like any other, so filters, caps and all else see changed values
 * without knowing it. Only the keys are copied, which takes a millisecond or two for a million items.
 */
import type { AttributeValue } from "../attribute-values.ts";
import { CODED_MAX, countBelow, type TableColumn, type WholeKeys, wholeKeys } from "../attributes.ts";
import { epochSecondsIn, epochSecondsOf } from "../filter/epoch-seconds.ts";
import type { ItemIndex } from "../ids.ts";
import { bytesAt, compareBytes, countOf, lowerBound, type PackedStrings, utf8Of } from "../packed-strings.ts";

import { NO_PLACE, type Places, placeInPair, unitsOf } from "../place.ts";

/**
 * Entry e gives item items[e] the value values[codes[e]]; null: no value. The last entry of an item wins. There is no object per entry,
 * since 200,000 of them would be garbage of many megabytes.
 */
export type NewValues = {
  readonly items: readonly ItemIndex[];
  readonly codes: readonly number[];
  readonly values: readonly (AttributeValue | null)[];
};

type NumberColumn = Extract<TableColumn, { form: string }>;
type TextColumn = Extract<TableColumn, { dictionary: PackedStrings }>;

const KEY_MAX = 2 ** 32 - 1;

/** The value as the column stores it, with times in epoch seconds. Undefined if it is of another type. */
export function storable({ type }: TableColumn, value: AttributeValue | null): AttributeValue | null | undefined {
  if (value === null) return null;
  const isOfType = {
    Boolean: typeof value === "boolean",
    Numerical: typeof value === "number",
    Timestamp: typeof value === "number" || typeof value === "string",
    Category: typeof value === "string",
    Text: typeof value === "string",
    CategoryList: Array.isArray(value),
    Location: typeof value === "string" && placeInPair(value) !== undefined,
  };
  if (!isOfType[type]) return undefined;
  if (type === "Timestamp") return typeof value === "number" ? epochSecondsOf(value) : epochSecondsIn(value as string);
  return value;
}

/** @param changes With values as `storable` returns them. */
export function changedColumn(column: TableColumn, changes: NewValues): TableColumn {
  if (column.type === "Boolean") {
    const keys = column.keys.slice();
    setKeys(keys, changes, (value) => (value === null ? 0 : value === true ? 2 : 1));
    return { ...column, keys };
  }
  if (column.type === "Location") return changedPlaces(column, changes);
  return "form" in column ? changedNumbers(column, changes) : changedTexts(column, changes);
}

function changedPlaces(column: Extract<TableColumn, Places>, { items, codes, values }: NewValues): TableColumn {
  const [lat, lon] = [column.lat.slice(), column.lon.slice()];
  const places = values.map((value) => (typeof value === "string" ? placeInPair(value) : undefined));
  for (let entry = 0; entry < items.length; entry++) {
    const place = places[codes[entry]!];
    lat[items[entry]!] = place ? unitsOf(place.lat) : NO_PLACE;
    lon[items[entry]!] = place ? unitsOf(place.lon) : 0;
  }
  return { ...column, lat, lon };
}

/** Sets each item's key to the key of its value. */
function setKeys(
  keys: WholeKeys | Float32Array | Float64Array,
  { items, codes, values }: NewValues,
  keyOf: (value: AttributeValue | null) => number,
): void {
  const keyOfCode = Float64Array.from(values, keyOf);
  for (let entry = 0; entry < items.length; entry++) keys[items[entry]!] = keyOfCode[codes[entry]!]!;
}

/** NaN: missing. Adding 0 turns −0 into 0. */
const numberOf = (value: AttributeValue | null): number => (typeof value === "number" ? value + 0 : Number.NaN);

function changedNumbers(column: NumberColumn, changes: NewValues): TableColumn {
  const present = changes.values.map(numberOf).filter((number) => !Number.isNaN(number));
  if (column.form === "plain") return plainNumbers(column, changes, present);
  const based = column.form === "based" ? withBase(column, changes, present) : undefined;
  return based ?? codedNumbers(column, changes, present) ?? plainNumbers(column, changes, present);
}

/** Undefined if the numbers are no integers in a range that keys can express. */
function withBase(
  column: Extract<NumberColumn, { form: "based" }>,
  changes: NewValues,
  present: readonly number[],
): TableColumn | undefined {
  if (!present.every(Number.isSafeInteger)) return undefined;
  const base = present.reduce((low, number) => Math.min(low, number), column.base);
  const high = present.reduce((most, number) => Math.max(most, number), base);
  const shift = column.base - base;
  const keyMax = Math.max(largestKey(column.keys) + shift, high - base + 1);
  if (!(keyMax <= KEY_MAX)) return undefined;
  const keys = wholeKeys(keyMax, column.keys.length);
  if (shift === 0) keys.set(column.keys);
  else
    for (let item = 0; item < keys.length; item++)
      keys[item] = column.keys[item] === 0 ? 0 : column.keys[item]! + shift;
  setKeys(keys, changes, (value) => (typeof value === "number" ? value - base + 1 : 0));
  return { type: column.type, form: "based", keys, base };
}

/** Undefined if there are too many distinct numbers. */
function codedNumbers(
  column: Exclude<NumberColumn, { form: "plain" }>,
  changes: NewValues,
  present: readonly number[],
): TableColumn | undefined {
  const old = column.form === "coded" ? column.values : usedNumbers(column);
  if (old === undefined) return undefined;
  const distinct = Float64Array.from(new Set([...old, ...present])).sort();
  if (distinct.length > CODED_MAX) return undefined;
  const newKey = (number: number) => (Number.isNaN(number) ? 0 : countBelow(distinct, number) + 1);
  const isSame = column.form === "coded" && distinct.length === old.length;
  const oldKey = (number: number, at: number) => (column.form === "coded" ? at + 1 : number - column.base + 1);
  const keyOfOld = new Uint32Array(old.length === 0 ? 1 : oldKey(old.at(-1)!, old.length - 1) + 1);
  for (const [at, number] of old.entries()) keyOfOld[oldKey(number, at)] = newKey(number);
  const keys = copyKeys(column.keys, wholeKeys(distinct.length, column.keys.length), isSame ? undefined : keyOfOld);
  setKeys(keys, changes, (value) => newKey(numberOf(value)));
  return { type: column.type, form: "coded", keys, values: distinct };
}

/** The numbers that occur in a based column, rising; undefined if their range is large. */
function usedNumbers({ keys, base }: Extract<NumberColumn, { form: "based" }>): Float64Array | undefined {
  const keyMax = largestKey(keys);
  if (keyMax > CODED_MAX) return undefined;
  const isUsed = new Uint8Array(keyMax + 1);
  for (let item = 0; item < keys.length; item++) isUsed[keys[item]!] = 1;
  const used: number[] = [];
  for (let key = 1; key <= keyMax; key++) if (isUsed[key]) used.push(base + key - 1);
  return Float64Array.from(used);
}

function plainNumbers(column: NumberColumn, changes: NewValues, present: readonly number[]): TableColumn {
  const { type } = column;
  const isNarrow = column.form === "plain" && column.keys instanceof Float32Array;
  const keys =
    isNarrow && present.every((number) => Math.fround(number) === number)
      ? (column.keys.slice() as Float32Array)
      : new Float64Array(column.keys.length);
  if (keys instanceof Float64Array) for (let item = 0; item < keys.length; item++) keys[item] = numberAt(column, item);
  setKeys(keys, changes, numberOf);
  return { type, form: "plain", keys };
}

function numberAt(column: NumberColumn, item: number): number {
  const key = column.keys[item]!;
  if (column.form === "plain") return key;
  if (key === 0) return Number.NaN;
  return column.form === "coded" ? column.values[key - 1]! : column.base + key - 1;
}

function changedTexts(column: TextColumn, changes: NewValues): TableColumn {
  const textsOf = (value: AttributeValue | null): readonly string[] =>
    typeof value === "string" ? [value] : Array.isArray(value) ? value : [];
  const texts = new Set(changes.values.flatMap(textsOf));
  const { dictionary, keyOf, keyOfOld } = withTexts(column.dictionary, texts);
  const keysMax = countOf(dictionary);
  if (column.type !== "CategoryList") {
    const keys = copyKeys(column.keys, wholeKeys(keysMax, column.keys.length), keyOfOld);
    setKeys(keys, changes, (value) => (typeof value === "string" ? keyOf.get(value)! : 0));
    return { type: column.type, keys, dictionary };
  }
  const keysOf = (value: AttributeValue | null) => [...new Set(textsOf(value).map((text) => keyOf.get(text)!))];
  const listOfCode = changes.values.map((value) => keysOf(value).sort((a, b) => a - b));
  const lists = new Map(changes.items.map((item, entry) => [item, listOfCode[changes.codes[entry]!]!]));
  const start = startsWith(column.start, lists);
  const keys = wholeKeys(keysMax, start.at(-1)!);
  let from = 0; // the first item that is not written yet
  for (const [item, list] of [...lists].sort(([a], [b]) => a - b)) {
    copyKeys(column.keys.subarray(column.start[from], column.start[item]), keys.subarray(start[from]), keyOfOld);
    keys.set(list, start[item]);
    from = item + 1;
  }
  copyKeys(column.keys.subarray(column.start[from]), keys.subarray(start[from]), keyOfOld);
  return { type: column.type, keys, dictionary, start };
}

/** Where lists start when some have other lengths. */
function startsWith(start: Uint32Array, lists: ReadonlyMap<number, readonly number[]>): Uint32Array {
  const moved = new Uint32Array(start.length);
  let shift = 0;
  for (let item = 0; item + 1 < start.length; item++) {
    const list = lists.get(item);
    if (list) shift += list.length - (start[item + 1]! - start[item]!);
    moved[item + 1] = start[item + 1]! + shift;
  }
  return moved;
}

/** A dictionary with further texts, and the new key of each old key; undefined if all texts were there. */
function withTexts(dictionary: PackedStrings, texts: ReadonlySet<string>) {
  const places = [...texts].map((text) => {
    const utf8 = utf8Of(text);
    const at = lowerBound(dictionary, utf8);
    const isKnown = at < countOf(dictionary) && compareBytes(bytesAt(dictionary, at), utf8) === 0;
    return { text, utf8, at, isKnown };
  });
  const added = places.filter(({ isKnown }) => !isKnown).sort((a, b) => compareBytes(a.utf8, b.utf8));
  const keyOf = new Map<string, number>();
  if (added.length === 0) {
    for (const { text, at } of places) keyOf.set(text, at + 1);
    return { dictionary, keyOf, keyOfOld: undefined };
  }
  const count = countOf(dictionary);
  const keyOfOld = new Uint32Array(count + 1);
  const start = new Uint32Array(count + added.length + 1);
  const bytes = new Uint8Array(dictionary.bytes.length + added.reduce((sum, { utf8 }) => sum + utf8.length, 0));
  let [next, offset] = [0, 0]; // of the old texts, and of the bytes
  let key = 0;
  const copyUntil = (at: number) => {
    const [begin, end] = [dictionary.start[next]!, dictionary.start[at]!];
    bytes.set(dictionary.bytes.subarray(begin, end), offset);
    for (; next < at; next++) {
      keyOfOld[next + 1] = ++key;
      start[key] = offset + dictionary.start[next + 1]! - begin;
    }
    offset += end - begin;
  };
  for (const { text, utf8, at } of added) {
    copyUntil(at);
    bytes.set(utf8, offset);
    offset += utf8.length;
    start[++key] = offset;
    keyOf.set(text, key);
  }
  copyUntil(count);
  for (const { text, at, isKnown } of places) if (isKnown) keyOf.set(text, keyOfOld[at + 1]!);
  return { dictionary: { bytes, start }, keyOf, keyOfOld };
}

/** Copies keys. With `keyOfOld`, each becomes the key that it gives. */
function copyKeys(keys: WholeKeys, copy: WholeKeys, keyOfOld: Uint32Array | undefined): WholeKeys {
  if (keyOfOld === undefined) copy.set(keys);
  else for (let at = 0; at < keys.length; at++) copy[at] = keyOfOld[keys[at]!]!;
  return copy;
}

function largestKey(keys: WholeKeys): number {
  let largest = 0;
  for (let item = 0; item < keys.length; item++) if (keys[item]! > largest) largest = keys[item]!;
  return largest;
}
