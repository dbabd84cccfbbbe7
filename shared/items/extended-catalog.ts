/** A version's catalog and attributes with further items behind its own, which the customer has added since it was trained. */
import type { AttributeTable, KeyedColumn, TableColumn } from "../attributes.ts";
import { type Catalog, decodeCatalog, encodeCatalog } from "../catalog.ts";
import { INTEGER, type ItemId, type ItemIdType, type ItemIndex } from "../ids.ts";
import { packStrings } from "../packed-strings.ts";
import { NO_PLACE } from "../place.ts";

/** Limit on the items that a version gets without a training. */
export const NEW_ITEMS_MAX = 10_000;

/** Whether an item of a catalog can have this id. */
export const isIdOf = (type: ItemIdType, id: ItemId): boolean => type !== "integer" || INTEGER.test(id);

/** @param ids Distinct ids that `catalog` does not have. They get the indices from catalog.itemCount on. */
export function withIds(catalog: Catalog, ids: readonly ItemId[]): Catalog {
  const { itemCount, itemIdType } = catalog;
  const added = decodeCatalog(encodeCatalog({ itemIds: packStrings(ids), itemIdType }));
  let order: Uint32Array | undefined;
  return {
    itemCount: itemCount + ids.length,
    itemIdType,
    /** Made when it is first needed. Only filters on a range of ids need it, and it takes 4 bytes an item. */
    get order() {
      order ??= mergedOrder(catalog, added);
      return order;
    },
    countBelow: (id) => catalog.countBelow(id) + added.countBelow(id),
    indexOf(id) {
      const item = added.indexOf(id);
      return item === undefined ? catalog.indexOf(id) : ((itemCount + item) as ItemIndex);
    },
    forEachId(visit) {
      catalog.forEachId(visit);
      added.forEachId((item, bytes, start, end) => visit((itemCount + item) as ItemIndex, bytes, start, end));
    },
    idAt: (item) => (item < itemCount ? catalog.idAt(item) : added.idAt((item - itemCount) as ItemIndex)),
  };
}

function mergedOrder({ order, itemCount, countBelow }: Catalog, added: Catalog): Uint32Array {
  const merged = new Uint32Array(itemCount + added.itemCount);
  let copied = 0;
  for (const [at, item] of added.order.entries()) {
    const below = countBelow(added.idAt(item as ItemIndex));
    merged.set(order.subarray(copied, below), copied + at);
    merged[below + at] = itemCount + item;
    copied = below;
  }
  merged.set(order.subarray(copied), copied + added.itemCount);
  return merged;
}

/** The same table for more items, which have no values. */
export function longerTable({ columns }: AttributeTable, itemCount: number): AttributeTable {
  return { itemCount, columns: new Map([...columns].map(([name, column]) => [name, longerColumn(column, itemCount)])) };
}

function longerColumn(column: TableColumn, itemCount: number): TableColumn {
  if (column.type === "CategoryList") {
    const start = new Uint32Array(itemCount + 1).fill(column.keys.length);
    start.set(column.start);
    return { ...column, start };
  }
  if (column.type === "Location") {
    const [lat, lon] = [new Int32Array(itemCount).fill(NO_PLACE), new Int32Array(itemCount)];
    lat.set(column.lat);
    lon.set(column.lon);
    return { ...column, lat, lon };
  }
  const keys = new (column.keys.constructor as new (length: number) => KeyedColumn["keys"])(itemCount);
  if ("form" in column && column.form === "plain") keys.fill(Number.NaN, column.keys.length);
  keys.set(column.keys);
  return { ...column, keys } as TableColumn;
}
