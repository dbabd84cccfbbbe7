/** A version's catalog with what the customer has changed since. */
import { type AttributeValue, storedValueAt } from "../attribute-values.ts";
import type { AttributeTable, TableColumn } from "../attributes.ts";
import type { Catalog } from "../catalog.ts";
import type { ItemId, ItemIndex } from "../ids.ts";
import { countOf, stringAt } from "../packed-strings.ts";
import { changedColumn, storable } from "./changed-column.ts";
import type { ChangedAttribute, ItemChanges } from "./changes-file.ts";

/** What a version was trained with. */
export type SourceItems = {
  readonly catalog: Catalog;
  readonly attributes: AttributeTable | null;
  /** Changed values before this time, in epoch seconds, no longer hold. Absent: all hold. */
  readonly changesFrom?: number | undefined;
};

export type ChangedCatalog = {
  readonly attributes: AttributeTable | null;
  /** Bit i of byte j: item 8j + i is in no list. Null: none is hidden. */
  readonly hidden: Uint8Array | null;
  /** The memory that it takes besides the version. */
  readonly bytes: number;
};

export const unchanged = ({ attributes }: SourceItems): ChangedCatalog => ({
  attributes,
  hidden: null,
  bytes: 0,
});

export const isHiddenIn = (hidden: Uint8Array, item: ItemIndex): boolean =>
  (hidden[item >>> 3]! & (1 << (item & 7))) !== 0;

/**
 * Applies changes to a catalog that may have changes already. An item of `changes` loses those it had: what is not changed any more has
 * the source's value again.
 */
export function withItemChanges(source: SourceItems, before: ChangedCatalog, changes: ItemChanges): ChangedCatalog {
  const items = Array.from({ length: countOf(changes.ids) }, (_, row) =>
    source.catalog.indexOf(stringAt(changes.ids, row) as ItemId),
  );
  const attributes = changedTable(source.attributes, before.attributes, {
    changes,
    items,
    from: source.changesFrom ?? 0,
  });
  const hidden = hiddenWith(before.hidden, items, changes.hidden, source.catalog.itemCount);
  return { attributes, hidden, bytes: bytesBeside(source.attributes, attributes) + (hidden?.length ?? 0) };
}

/** By row of the changes; undefined for an item that the version does not have. */
type ItemsByRow = readonly (ItemIndex | undefined)[];
type Applied = { readonly changes: ItemChanges; readonly items: ItemsByRow; readonly from: number };

/** Attributes that the version does not have, and values of another type than its own, are left out. */
function changedTable(source: AttributeTable | null, before: AttributeTable | null, applied: Applied) {
  if (source === null) return null;
  const { changes, items, from } = applied;
  const columns = new Map(before!.columns);
  for (const [name, original] of source.columns) {
    const column = columns.get(name)!;
    const values = column === original ? new Map() : sourceValues(original, items);
    addChanged(values, column, { changed: changes.attributes.get(name), items, from });
    if (values.size > 0) columns.set(name, changedColumn(column, values));
  }
  return { itemCount: source.itemCount, columns };
}

type Values = Map<ItemIndex, AttributeValue | null>;

function sourceValues(original: TableColumn, items: ItemsByRow): Values {
  const values: Values = new Map();
  for (const item of items) if (item !== undefined) values.set(item, storedValueAt(original, item));
  return values;
}

type Changed = { readonly changed: ChangedAttribute | undefined; readonly items: ItemsByRow; readonly from: number };

function addChanged(values: Values, column: TableColumn, { changed, items, from }: Changed): void {
  for (const [entry, row] of changed?.rows.entries() ?? []) {
    const item = items[row];
    if (item === undefined || changed!.at[entry]! < from) continue;
    const value = storable(column, changed!.values[changed!.codes[entry]!]!);
    if (value !== undefined) values.set(item, value);
  }
}

function hiddenWith(before: Uint8Array | null, items: ItemsByRow, isHidden: Uint8Array, itemCount: number) {
  if (before === null && !isHidden.includes(1)) return null;
  const hidden = before?.slice() ?? new Uint8Array(Math.ceil(itemCount / 8));
  for (const [row, item] of items.entries()) {
    if (item === undefined) continue;
    const bit = 1 << (item & 7);
    if (isHidden[row] === 1) hidden[item >>> 3]! |= bit;
    else hidden[item >>> 3]! &= ~bit;
  }
  return hidden;
}

function bytesBeside(source: AttributeTable | null, changed: AttributeTable | null): number {
  let bytes = 0;
  for (const [name, column] of changed?.columns ?? []) {
    const original = source!.columns.get(name)!;
    if (column !== original)
      for (const array of arraysOf(column)) if (!arraysOf(original).includes(array)) bytes += array.byteLength;
  }
  return bytes;
}

const arraysOf = (column: TableColumn): ArrayBufferView[] => [
  column.keys,
  ...("dictionary" in column ? [column.dictionary.bytes, column.dictionary.start] : []),
  ...("values" in column ? [column.values] : []),
  ...("start" in column ? [column.start] : []),
];
