/** A version's catalog with what the customer has changed since. */
import { storedValueAt } from "../attribute-values.ts";
import type { AttributeTable, TableColumn } from "../attributes.ts";
import type { Catalog } from "../catalog.ts";
import type { ItemId, ItemIndex } from "../ids.ts";
import { countOf, stringAt } from "../packed-strings.ts";
import { changedColumn, type NewValues, storable } from "./changed-column.ts";
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
    const restored = column === original ? NOTHING : sourceValues(original, items);
    const values = withChanged(restored, column, { changed: changes.attributes.get(name), items, from });
    if (values.items.length > 0) columns.set(name, changedColumn(column, values));
  }
  return { itemCount: source.itemCount, columns };
}

const NOTHING: NewValues = { items: [], codes: [], values: [] };

function sourceValues(original: TableColumn, items: ItemsByRow): NewValues {
  const known = items.filter((item) => item !== undefined);
  return { items: known, codes: [...known.keys()], values: known.map((item) => storedValueAt(original, item)) };
}

type Changed = { readonly changed: ChangedAttribute | undefined; readonly items: ItemsByRow; readonly from: number };

/** Adds the changed values that hold and that the column can store. */
function withChanged(restored: NewValues, column: TableColumn, { changed, items, from }: Changed): NewValues {
  if (changed === undefined) return restored;
  const stored = changed.values.map((value) => storable(column, value));
  const [changedItems, codes] = [[...restored.items], [...restored.codes]];
  for (let entry = 0; entry < changed.rows.length; entry++) {
    const [item, code] = [items[changed.rows[entry]!], changed.codes[entry]!];
    if (item === undefined || changed.at[entry]! < from || stored[code] === undefined) continue;
    changedItems.push(item);
    codes.push(restored.values.length + code);
  }
  return { items: changedItems, codes, values: [...restored.values, ...stored.map((value) => value ?? null)] };
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
