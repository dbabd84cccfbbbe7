import { forEachKey, notAnAttribute } from "../attribute-values.ts";
import type { AttributeTable } from "../attributes.ts";
import { filterProblem } from "../filter/parse-filter.ts";
import type { ItemIndex } from "../ids.ts";
import { pointerStep } from "../parse-request.ts";

/** Counts the items of a list by attribute value. */
export type Caps = {
  /** Whether every value of the item may appear once more. */
  hasRoom(item: ItemIndex): boolean;
  count(item: ItemIndex): void;
};

/** Throws Problem unknown_attribute. */
export function capsOf(maxPerValue: ReadonlyMap<string, number>, table: AttributeTable | null): Caps {
  const capped = [...maxPerValue].map(([name, max]) => {
    const column = table?.columns.get(name);
    if (column) return { column, max, counts: new Map<number, number>() };
    const known = [...(table?.columns.keys() ?? [])];
    throw filterProblem("unknown_attribute", `/max_per_value${pointerStep(name)}`, notAnAttribute(name, known));
  });
  return {
    hasRoom(item) {
      let isRoom = true;
      for (const { column, max, counts } of capped)
        forEachKey(column, item, (key) => {
          if ((counts.get(key) ?? 0) >= max) isRoom = false;
        });
      return isRoom;
    },
    count(item) {
      for (const { column, counts } of capped)
        forEachKey(column, item, (key) => counts.set(key, (counts.get(key) ?? 0) + 1));
    },
  };
}

/**
 * Fills a list with the first items that the caps allow: from `first`, then from further down.
 *
 * @param nextBest Returns the best candidates that pass a test, in order; as many as are worth one scan of the catalog.
 */
export function fillWithin(
  caps: Caps,
  limit: number,
  first: readonly ItemIndex[],
  nextBest: (isWanted: (item: ItemIndex) => boolean) => readonly ItemIndex[],
): ItemIndex[] {
  const list: ItemIndex[] = [];
  const tried = new Set<ItemIndex>();
  let batch = first;
  // Each further batch begins with an item that has room, so there are at most `limit` scans.
  while (list.length < limit && batch.length > 0) {
    for (const item of batch) {
      tried.add(item);
      if (list.length === limit || !caps.hasRoom(item)) continue;
      caps.count(item);
      list.push(item);
    }
    if (list.length < limit) batch = nextBest((item) => !tried.has(item) && caps.hasRoom(item));
  }
  return list;
}
