/** The item ids as a column that filters can test. An item's key is the position of its id in the order of all ids. */
import type { Catalog } from "../catalog.ts";
import { INTEGER, type ItemId } from "../ids.ts";
import { classifierBy, type KeyClassifier } from "./key-classifier.ts";
import { type KeyColumn, notAPlace, orderKeys, type Place, typeMismatch } from "./key-column.ts";
import { type KeySet, NO_KEYS, union } from "./key-set.ts";
import type { FilterTest } from "./parse-filter.ts";
import type { Scalar } from "./references.ts";

const EXPECTED = "an item id: text, or an integer within ±(2^53 − 1); send larger ones as text";

/** @param onTable Called with each array of catalog size that a classifier allocates, so that the caller can free it. */
export function itemIdColumn(name: string, catalog: Catalog, onTable?: (table: ArrayBufferView) => void): KeyColumn {
  return {
    name,
    start: undefined,
    keysOf(test) {
      if (test.kind === "near") throw notAPlace(test, "an item id");
      if (test.kind === "compare")
        return orderKeys(test.operator, orderPlace(test, catalog), { first: 0, after: (key) => key + 1 });
      const sets = test.values.map((value, i): KeySet => {
        if (value === null) return NO_KEYS; // every item has an id
        if (!isIdLike(value)) throw typeMismatch(test, value, { expected: EXPECTED, i });
        const { key, isPresent } = placeOf(value, catalog);
        return isPresent ? [key, key + 1] : NO_KEYS;
      });
      return union(sets);
    },
    classifier: (bounds) => classifierOf(catalog, bounds, onTable),
  };
}

const isIdLike = (value: Scalar): value is string | number =>
  typeof value === "string" || (typeof value === "number" && Number.isSafeInteger(value));

function placeOf(value: string | number, catalog: Catalog): Place {
  const id = String(value) as ItemId; // 7 and "7" are the same id
  return { key: catalog.countBelow(id), isPresent: catalog.indexOf(id) !== undefined };
}

function orderPlace(test: Extract<FilterTest, { kind: "compare" }>, catalog: Catalog): Place {
  const { value } = test;
  if (catalog.itemIdType === "integer" && typeof value === "string" && !INTEGER.test(value))
    throw typeMismatch(test, value, { expected: "an integer" });
  if (!isIdLike(value)) throw typeMismatch(test, value, { expected: EXPECTED });
  return placeOf(value, catalog);
}

/** A Map is used up to this many items. Beyond, an array of the catalog's size is smaller and faster. */
const MAP_ITEMS_MAX = 4096;

/**
 * Classifies items by a table of all items outside the largest class. So a filter that excludes a thousand ids costs a Map of a thousand
 * entries, whatever the size of the catalog.
 */
function classifierOf(
  { order, itemCount }: Catalog,
  bounds: readonly number[],
  onTable: ((table: ArrayBufferView) => void) | undefined,
): KeyClassifier {
  const ends = [...bounds, Infinity].map((bound) => Math.min(itemCount, Math.max(0, bound)));
  const itemsOfClass = ends.map((end, i) => order.subarray(ends[i - 1] ?? 0, end));
  const largest = itemsOfClass.reduce((best, items, i) => (items.length > itemsOfClass[best]!.length ? i : best), 0);
  if (itemCount - itemsOfClass[largest]!.length <= MAP_ITEMS_MAX) {
    const classOf = new Map<number, number>();
    for (const [i, items] of itemsOfClass.entries()) if (i !== largest) for (const item of items) classOf.set(item, i);
    return classifierBy((item) => classOf.get(item) ?? largest);
  }
  const classOf = itemsOfClass.length <= 2 ** 8 ? new Uint8Array(itemCount) : new Uint16Array(itemCount);
  onTable?.(classOf);
  for (const [i, items] of itemsOfClass.entries()) for (const item of items) classOf[item] = i;
  return classifierBy((item) => classOf[item]!);
}
