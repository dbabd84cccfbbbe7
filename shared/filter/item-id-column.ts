/** The item ids as a column of the matcher: an item's key is the place of its id in the order of ids. */
import type { Catalog } from "../catalog.ts";
import { INTEGER, type ItemId } from "../ids.ts";
import { type Classifier, classifierBy, type KeyColumn, mismatch, orderKeys, type Place } from "./key-column.ts";
import { type KeySet, NO_KEYS, union } from "./key-set.ts";
import type { FilterTest, Scalar } from "./parse-filter.ts";

const EXPECTED = "an item id: text, or an integer within ±(2^53 − 1); send larger ones as text";

/** @param onTable Told of each array of the catalog's size that its classifiers keep. */
export function idColumn(name: string, catalog: Catalog, onTable?: (table: ArrayBufferView) => void): KeyColumn {
  return {
    name,
    start: undefined,
    keysOf(test) {
      if (test.kind === "compare")
        return orderKeys(test.operator, orderPlace(test, catalog), { first: 0, after: (key) => key + 1 });
      const sets = test.values.map((value, i): KeySet => {
        if (value === null) return NO_KEYS; // no item is without an id
        if (!isIdLike(value)) throw mismatch(test, value, { expected: EXPECTED, i });
        const { key, isPresent } = placeOf(value, catalog);
        return isPresent ? [key, key + 1] : NO_KEYS;
      });
      return union(sets);
    },
    classifier: (bounds) => classifierOf(catalog, { bounds, onTable }),
  };
}

const isIdLike = (value: Scalar): value is string | number =>
  typeof value === "string" || (typeof value === "number" && Number.isSafeInteger(value));

/** 7 and "7" are the same id. */
function placeOf(value: string | number, catalog: Catalog): Place {
  const id = String(value) as ItemId;
  return { key: catalog.countBelow(id), isPresent: catalog.indexOf(id) !== undefined };
}

function orderPlace(test: Extract<FilterTest, { kind: "compare" }>, catalog: Catalog): Place {
  const { value } = test;
  if (catalog.itemIdType === "integer" && typeof value === "string" && !INTEGER.test(value))
    throw mismatch(test, value, { expected: "an integer" });
  if (!isIdLike(value)) throw mismatch(test, value, { expected: EXPECTED });
  return placeOf(value, catalog);
}

const SMALL = 4096; // items that a Map holds; beyond, an array of the catalog's size is smaller and faster

type ClassifierOptions = {
  readonly bounds: readonly number[];
  readonly onTable: ((table: ArrayBufferView) => void) | undefined;
};

/**
 * Finds the class of an item by a table of the items outside the largest class: an exclude list of a thousand ids costs
 * a Map of a thousand, whatever the size of the catalog.
 */
function classifierOf({ order, itemCount }: Catalog, { bounds, onTable }: ClassifierOptions): Classifier {
  const ends = [...bounds, Infinity].map((bound) => Math.min(itemCount, Math.max(0, bound)));
  const runs = ends.map((end, i) => order.subarray(ends[i - 1] ?? 0, end)); // runs[c]: the items of class c
  const largest = runs.reduce((best, run, i) => (run.length > runs[best]!.length ? i : best), 0);
  if (itemCount - runs[largest]!.length <= SMALL) {
    const classOf = new Map<number, number>();
    for (const [i, run] of runs.entries()) if (i !== largest) for (const item of run) classOf.set(item, i);
    return classifierBy((item) => classOf.get(item) ?? largest);
  }
  const classOf = runs.length <= 2 ** 8 ? new Uint8Array(itemCount) : new Uint16Array(itemCount);
  onTable?.(classOf);
  for (const [i, run] of runs.entries()) for (const item of run) classOf[item] = i;
  return classifierBy((item) => classOf[item]!);
}
