/** A version's catalog with what the customer has changed since. */
import { isSameValue, storedValueAt } from "../attribute-values.ts";
import type { AttributeTable, TableColumn } from "../attributes.ts";
import type { Catalog } from "../catalog.ts";
import type { ItemId, ItemIndex } from "../ids.ts";
import { countOf, stringAt } from "../packed-strings.ts";
import { changedColumn, type NewValues, storable } from "./changed-column.ts";
import type { ChangedAttribute, ItemChanges } from "./changes-file.ts";
import { isIdOf, longerTable, NEW_ITEMS_MAX, withIds } from "./extended-catalog.ts";

/** What a version was trained with. */
export type SourceItems = {
  readonly catalog: Catalog;
  readonly attributes: AttributeTable | null;
  /** Changed values and new items before this time, in epoch seconds, no longer hold. Absent: all hold. */
  readonly changesFrom?: number | undefined;
};

export type ChangedCatalog = {
  /** Items that the customer has added come after those of the version. One that was withdrawn again stays, hidden. */
  readonly catalog: Catalog;
  readonly attributes: AttributeTable | null;
  /** Bit i of byte j: item 8j + i is in no list. Null: none is hidden. */
  readonly hidden: Uint8Array | null;
  /** The memory that it takes besides the version. */
  readonly bytes: number;
};

export const unchanged = ({ catalog, attributes }: SourceItems): ChangedCatalog => ({
  catalog,
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
  const from = source.changesFrom ?? 0;
  const isNew = (row: number) => (changes.newAt.get(row) ?? -1) >= from;
  const catalog = withNewItems(source, before.catalog, changes, isNew);
  const ids = Array.from({ length: countOf(changes.ids) }, (_, row) => stringAt(changes.ids, row) as ItemId);
  const items = ids.map((id) => catalog.indexOf(id));
  const [known, { itemCount }] = [source.catalog.itemCount, catalog];
  const isAbsent = items.map((item, row) => item !== undefined && item >= known && !isNew(row));
  const attributes = changedTable(source.attributes, before.attributes, { changes, items, from, itemCount });
  const isHidden = changes.hidden.map((hidden, row) => (isAbsent[row] ? 1 : hidden));
  const hidden = hiddenWith(before.hidden, items, isHidden, itemCount);
  const orderBytes = catalog === source.catalog ? 0 : Uint32Array.BYTES_PER_ELEMENT * catalog.itemCount;
  const bytes = bytesBeside(source.attributes, attributes) + (hidden?.length ?? 0) + orderBytes;
  return { catalog, attributes, hidden, bytes };
}

/** The catalog with the new items of some changes. Of more than the limit, the last ones are left out. */
function withNewItems(
  source: SourceItems,
  before: Catalog,
  { ids, newAt }: ItemChanges,
  isNew: (row: number) => boolean,
): Catalog {
  const { itemCount, itemIdType, indexOf } = source.catalog;
  if (source.attributes === null) return before;
  const found = [...newAt.keys()].filter(isNew).map((row) => stringAt(ids, row) as ItemId);
  const added = found.filter((id) => isIdOf(itemIdType, id) && before.indexOf(id) === undefined);
  if (added.length === 0) return before;
  const known = Array.from({ length: before.itemCount - itemCount }, (_, i) =>
    before.idAt((itemCount + i) as ItemIndex),
  );
  const all = [...known, ...added].filter((id) => indexOf(id) === undefined);
  return withIds(source.catalog, all.slice(0, NEW_ITEMS_MAX));
}

/** By row of the changes; undefined for an item that the version does not have. */
type ItemsByRow = readonly (ItemIndex | undefined)[];
type Applied = {
  readonly changes: ItemChanges;
  readonly items: ItemsByRow;
  readonly from: number;
  readonly itemCount: number;
};

/** Attributes that the version does not have, and values of another type than its own, are left out. */
function changedTable(source: AttributeTable | null, before: AttributeTable | null, applied: Applied) {
  if (source === null) return null;
  const { changes, items, from, itemCount } = applied;
  const known = source.itemCount;
  const longer = itemCount > before!.itemCount ? longerTable(before!, itemCount) : before!;
  const columns = new Map(longer.columns);
  for (const [name, original] of source.columns) {
    const column = columns.get(name)!;
    const restored = before!.columns.get(name) === original ? NOTHING : sourceValues(original, items, known);
    const values = withChanged(restored, column, { changed: changes.attributes.get(name), items, from, known });
    if (isDifferent(column, values)) columns.set(name, changedColumn(column, values));
  }
  return { itemCount, columns };
}

/** Whether a column has other values than these. If not, it need not be copied. */
function isDifferent(column: TableColumn, { items, codes, values }: NewValues): boolean {
  const last = new Map(items.map((item, entry) => [item, codes[entry]!]));
  for (const [item, code] of last) if (!isSameValue(storedValueAt(column, item), values[code]!)) return true;
  return false;
}

const NOTHING: NewValues = { items: [], codes: [], values: [] };

/** New items have no value in the source. */
function sourceValues(original: TableColumn, rows: ItemsByRow, known: number): NewValues {
  const items = rows.filter((item) => item !== undefined);
  const missing = original.type === "CategoryList" ? [] : null;
  const values = items.map((item) => (item < known ? storedValueAt(original, item) : missing));
  return { items, codes: [...items.keys()], values };
}

type Changed = {
  readonly changed: ChangedAttribute | undefined;
  readonly items: ItemsByRow;
  readonly from: number;
  /** The number of items that the version was trained with. The values of new ones hold as long as the items do. */
  readonly known: number;
};

/** Adds the changed values that hold and that the column can store. */
function withChanged(restored: NewValues, column: TableColumn, { changed, items, from, known }: Changed): NewValues {
  if (changed === undefined) return restored;
  const stored = changed.values.map((value) => storable(column, value));
  const [changedItems, codes] = [[...restored.items], [...restored.codes]];
  for (let entry = 0; entry < changed.rows.length; entry++) {
    const [item, code] = [items[changed.rows[entry]!], changed.codes[entry]!];
    if (item === undefined || stored[code] === undefined) continue;
    if (item < known && changed.at[entry]! < from) continue;
    changedItems.push(item);
    codes.push(restored.values.length + code);
  }
  return { items: changedItems, codes, values: [...restored.values, ...stored.map((value) => value ?? null)] };
}

function hiddenWith(before: Uint8Array | null, items: ItemsByRow, isHidden: Uint8Array, itemCount: number) {
  if (before === null && !isHidden.includes(1)) return null;
  const hidden = new Uint8Array(Math.ceil(itemCount / 8));
  if (before) hidden.set(before);
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

function arraysOf(column: TableColumn): ArrayBufferView[] {
  if (column.type === "Location") return [column.lat, column.lon];
  return [
    column.keys,
    ...("dictionary" in column ? [column.dictionary.bytes, column.dictionary.start] : []),
    ...("values" in column ? [column.values] : []),
    ...("start" in column ? [column.start] : []),
  ];
}
