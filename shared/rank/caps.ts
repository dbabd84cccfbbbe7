import { forEachKey, notAnAttribute } from "../attribute-values.ts";
import type { AttributeTable, TableColumn } from "../attributes.ts";
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
    if (column) return capOf(column, max);
    const known = [...(table?.columns.keys() ?? [])];
    throw filterProblem("unknown_attribute", `/max_per_value${pointerStep(name)}`, notAnAttribute(name, known));
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

function capOf(column: TableColumn, max: number) {
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

type FirstItems = {
  readonly first: readonly ItemIndex[];
  /** There are no further candidates. */
  readonly isAll: boolean;
  readonly batchSize: number;
};

/**
 * Fills a list with the first items that the caps allow: from `first`, then from further down.
 *
 * @param nextBest Returns the best candidates that pass a test, in order, at most `batchSize`. Fewer than `batchSize` are all.
 */
export function fillWithin(
  caps: Caps,
  limit: number,
  { first, isAll, batchSize }: FirstItems,
  nextBest: (isWanted: (item: ItemIndex) => boolean) => readonly ItemIndex[],
): ItemIndex[] {
  const list: ItemIndex[] = [];
  const tried = new Set<ItemIndex>();
  let batch = first;
  // Each further batch begins with an item that has room, so there are at most `limit` batches.
  for (let isLast = isAll; ; isLast = batch.length < batchSize) {
    for (const item of batch) {
      tried.add(item);
      if (list.length === limit || !caps.hasRoom(item)) continue;
      caps.count(item);
      list.push(item);
    }
    if (list.length === limit || isLast) return list;
    batch = nextBest((item) => !tried.has(item) && caps.hasRoom(item));
  }
}
