/**
 * What a customer has changed in a model's catalog: values of attributes, and items that are hidden from all lists.
 *
 * Idea. Two objects hold the changes of a model. The *head* has the items that changed last, and names the *base*, an immutable file with
 * all others. So an edge that reads the head again and again transfers little, and most reads find it unchanged. Where both have an
 * item, the head's entry replaces the base's. A model without a head has no changes.
 *
 *     ids, ids_start                       the changed items' ids, UTF-8
 *     hidden        u8 [items]             1: in no list
 *     new.rows      u32 [new], rising      positions in `ids` of items that the version of that time did not have; absent: none
 *     new.at        u32 [new]              when the customer sent them last, in epoch seconds
 *     i.rows        u32 [entries], rising  positions in `ids` of the items whose attribute i is changed
 *     i.at          u32 [entries]          when, in epoch seconds
 *     i.codes       u32 [entries]          position of the value in `i.values`
 *     i.values, i.values_start             the distinct values of attribute i as JSON texts: 19.9, false, "red", ["a","b"], null
 *
 * Example. Lamp 7 costs 19.9 and is hidden: ids "7", hidden 1; attribute "price" has rows 0, codes 0, values "19.9".
 */
import * as z from "zod";
import { assert, FormatError } from "../assert.ts";
import type { AttributeValue } from "../attribute-values.ts";
import { arrayOf, type Container, decodeContainer, encodeContainer, type TypedArray } from "../container.ts";
import { ID_BYTES_MAX, type ItemId } from "../ids.ts";
import { Descriptor, prefixOf } from "../manifest.ts";
import { countOf, isUtf8, type PackedStrings, packStrings, stringAt } from "../packed-strings.ts";

/** The changes of one item that hold. */
export type ChangedItem = {
  readonly id: ItemId;
  readonly hidden: boolean;
  /** When the item was last sent while the live version did not have it, in epoch seconds. Absent: it never was. */
  readonly newAt?: number;
  /** By attribute; null takes the value away. `at` in epoch seconds. */
  readonly values: Readonly<Record<string, { readonly value: AttributeValue | null; readonly at: number }>>;
};

export type ItemChanges = {
  /** The file with the changes of all other items. */
  readonly base: Descriptor | null;
  readonly ids: PackedStrings;
  readonly hidden: Uint8Array; // [items] 0 or 1
  readonly newAt: ReadonlyMap<number, number>; // by row, epoch seconds
  readonly attributes: ReadonlyMap<string, ChangedAttribute>;
};

export type ChangedAttribute = {
  readonly rows: Uint32Array;
  readonly at: Uint32Array;
  readonly codes: Uint32Array;
  /** The distinct values, by code. */
  readonly values: readonly (AttributeValue | null)[];
};

export const CHANGED_ITEMS_MAX = 200_000;
/** Limit on the items of a head. With more, all changes move into a new base. */
export const HEAD_ITEMS_MAX = 1000;
export const HEAD_BYTES_MAX = 1 << 20;

export const changesHeadKey = (customer: string, model: string) => `${prefixOf(customer, model)}items/head.bin`;
export const changesBaseKey = (customer: string, model: string, digest: string) =>
  `${prefixOf(customer, model)}items/${digest.replace("sha256:", "")}.bin`;

const KIND = "item-changes";
const NAME_LENGTH_MAX = 1000;
const ATTRIBUTES_MAX = 400;
const Metadata = z.object({
  base: Descriptor.nullable(),
  attributes: z.array(z.string().max(NAME_LENGTH_MAX)).max(ATTRIBUTES_MAX),
});
const Value = z.union([z.string(), z.number(), z.boolean(), z.array(z.string()), z.null()]);

type AttributeEntries = {
  readonly rows: number[];
  readonly at: number[];
  readonly codes: number[];
  /** The code of each distinct value, by its JSON text. */
  readonly codeOf: Map<string, number>;
};

/** @param items With distinct ids. They are read once, so that 200,000 of them need not be in memory together. */
export function encodeItemChanges(items: Iterable<ChangedItem>, base: Descriptor | null): Uint8Array {
  const [texts, hiddenOf]: [string[], number[]] = [[], []];
  const entriesOf = new Map<string, AttributeEntries>();
  const newAts = new Map<number, number>();
  for (const { id, hidden, newAt, values } of items) {
    if (newAt !== undefined) newAts.set(texts.length, newAt);
    for (const [name, { value, at }] of Object.entries(values)) {
      const entries = entriesOf.get(name) ?? { rows: [], at: [], codes: [], codeOf: new Map() };
      entriesOf.set(name, entries);
      addEntry(entries, { row: texts.length, value, at });
    }
    texts.push(id);
    hiddenOf.push(hidden ? 1 : 0);
  }
  assert(texts.length <= CHANGED_ITEMS_MAX, `at most ${CHANGED_ITEMS_MAX} changed items, found ${texts.length}`);
  const ids = packStrings(texts);
  const attributes = [...entriesOf.keys()].sort();
  const arrays: Record<string, TypedArray> = {
    ids: ids.bytes,
    ids_start: ids.start,
    hidden: Uint8Array.from(hiddenOf),
    ...(newAts.size > 0 && {
      "new.rows": Uint32Array.from(newAts.keys()),
      "new.at": Uint32Array.from(newAts.values()),
    }),
  };
  for (const [i, name] of attributes.entries()) {
    const { rows, at, codes, codeOf } = entriesOf.get(name)!;
    const values = packStrings([...codeOf.keys()]);
    arrays[`${i}.rows`] = Uint32Array.from(rows);
    arrays[`${i}.at`] = Uint32Array.from(at);
    arrays[`${i}.codes`] = Uint32Array.from(codes);
    arrays[`${i}.values`] = values.bytes;
    arrays[`${i}.values_start`] = values.start;
  }
  return encodeContainer({ kind: KIND, metadata: { base, attributes }, arrays });
}

type Entry = { readonly row: number; readonly value: AttributeValue | null; readonly at: number };

function addEntry({ rows, at: times, codes, codeOf }: AttributeEntries, { row, value, at }: Entry): void {
  const text = JSON.stringify(value);
  const code = codeOf.get(text) ?? codeOf.size;
  codeOf.set(text, code);
  rows.push(row);
  times.push(at);
  codes.push(code);
}

/** Throws FormatError. */
export function decodeItemChanges(bytes: Uint8Array): ItemChanges {
  const container = decodeContainer(bytes, KIND, Metadata);
  const { base, attributes } = container.metadata;
  const ids = openStrings(container, "ids");
  const length = countOf(ids);
  const hidden = arrayOf(container, "hidden", { dtypes: ["u8"], length });
  for (let row = 0; row < length; row++)
    if (ids.start[row + 1]! - ids.start[row]! > ID_BYTES_MAX) throw new FormatError("item changes: an id is too long");
  const named = attributes.map((name, i) => [name, openAttribute(container, i, length)] as const);
  return { base, ids, hidden, newAt: openNew(container, length), attributes: new Map(named) };
}

function openNew(container: Container<unknown>, itemCount: number): ReadonlyMap<number, number> {
  if (!container.arrays.has("new.rows")) return new Map();
  const rows = arrayOf(container, "new.rows", { dtypes: ["u32"] });
  const at = arrayOf(container, "new.at", { dtypes: ["u32"], length: rows.length });
  if (rows.some((row) => row >= itemCount)) throw new FormatError("item changes: a new item beyond the last item");
  return new Map(Array.from(rows, (row, entry) => [row, at[entry]!]));
}

function openAttribute(container: Container<unknown>, i: number, itemCount: number): ChangedAttribute {
  const rows = arrayOf(container, `${i}.rows`, { dtypes: ["u32"] });
  const expected = { dtypes: ["u32"] as const, length: rows.length };
  const [at, codes] = [arrayOf(container, `${i}.at`, expected), arrayOf(container, `${i}.codes`, expected)];
  const texts = openStrings(container, `${i}.values`);
  const values = Array.from({ length: countOf(texts) }, (_, code) => parsedValue(stringAt(texts, code)));
  for (let entry = 0; entry < rows.length; entry++) {
    if (rows[entry]! >= itemCount || (entry > 0 && rows[entry]! <= rows[entry - 1]!))
      throw new FormatError("item changes: an attribute has rows that do not rise, or beyond the last item");
    if (codes[entry]! >= values.length) throw new FormatError("item changes: an attribute has an unknown code");
  }
  return { rows, at, codes, values };
}

function parsedValue(json: string): AttributeValue | null {
  try {
    return Value.parse(JSON.parse(json));
  } catch (cause) {
    throw new FormatError(`item changes: ${json.slice(0, 100)} is not a value`, { cause });
  }
}

/** Texts that are stored as their bytes and where each begins. Throws FormatError. */
export function openStrings(container: Container<unknown>, name: string): PackedStrings {
  const bytes = arrayOf(container, name, { dtypes: ["u8"] });
  const start = arrayOf(container, `${name}_start`, { dtypes: ["u32"] });
  const isRising = start.every((offset, at) => offset >= (start[at - 1] ?? 0));
  if (start[0] !== 0 || start.at(-1) !== bytes.length || !isRising || !isUtf8(bytes))
    throw new FormatError(`${container.kind}: ${name} are not texts that follow each other`);
  return { bytes, start };
}
