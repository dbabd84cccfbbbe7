import { forEachKey } from "../attribute-values.ts";
import type { AttributeTable, KeyedColumn } from "../attributes.ts";
import { filterProblem } from "../filter/filter-problem.ts";
import { namedColumn } from "../filter/named-column.ts";
import type { ItemIndex } from "../ids.ts";
import { pointerStep } from "../parse-request.ts";

/** Counts the items of a list by attribute value. */
export type Caps = {
  /** Whether every value of the item may appear once more. */
  hasRoom(item: ItemIndex): boolean;
  count(item: ItemIndex): void;
};

/** Throws Problem unknown_attribute, filter_type_mismatch. */
export function capsOf(maxPerValue: ReadonlyMap<string, number>, table: AttributeTable | null): Caps {
  const capped = [...maxPerValue].map(([name, max]) => {
    const pointer = `/max_per_value${pointerStep(name)}`;
    const column = namedColumn(table, name, pointer);
    if (column.type !== "Location") return capOf(column, max);
    throw filterProblem("filter_type_mismatch", pointer, "has places, of which each is a value of its own");
  });
  return {
    hasRoom(item) {
      for (const { isFull } of capped) if (isFull(item)) return false;
      return true;
    },
    count(item) {
      for (const { count } of capped) count(item);
    },
  };
}

function capOf(column: KeyedColumn, max: number) {
  const counts = new Map<number, number>();
  const full = new Set<number>(); // keys that occur `max` times
  const { keys } = column;
  const start = column.type === "CategoryList" ? column.start : undefined;
  return {
    // May run for every item of the catalog. The key of a missing value is never full.
    isFull(item: ItemIndex): boolean {
      if (!start) return full.has(keys[item]!);
      for (let at = start[item]!; at < start[item + 1]!; at++) if (full.has(keys[at]!)) return true;
      return false;
    },
    count(item: ItemIndex): void {
      forEachKey(column, item, (key) => {
        const count = (counts.get(key) ?? 0) + 1;
        counts.set(key, count);
        if (count >= max) full.add(key);
      });
    },
  };
}

/**
 * Fills a list with the first items that the caps allow: from `first`, then from further down.
 *
 * @param nextBatch Returns the next best candidates that pass a test, in order; none if there are no more.
 */
export function fillWithin(
  caps: Caps,
  limit: number,
  first: readonly ItemIndex[],
  nextBatch: (isWanted: (item: ItemIndex) => boolean) => readonly ItemIndex[],
): ItemIndex[] {
  const list = new Set<ItemIndex>();
  const isWanted = (item: ItemIndex) => caps.hasRoom(item) && !list.has(item);
  // Each further batch begins with an item that has room, so there are at most `limit` batches.
  for (let batch = first; batch.length > 0; batch = nextBatch(isWanted)) {
    for (const item of batch) {
      if (!caps.hasRoom(item)) continue;
      caps.count(item);
      list.add(item);
      if (list.size === limit) return [...list];
    }
  }
  return [...list];
}
