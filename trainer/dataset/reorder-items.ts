import type { PackedStrings } from "../../shared/packed-strings.ts";
import type { AttributeColumn, Dataset, Interactions } from "./dataset.ts";

/** Positions by falling score; equal scores keep their order. */
export function byFallingScore(scores: ArrayLike<number>): Int32Array {
  const order = Int32Array.from(scores, (_, i) => i);
  return order.sort((a, b) => scores[b]! - scores[a]! || a - b);
}

/** Positive interactions per item, and a little less than one more for any other interaction. Float64Array(itemCount). */
export function countPerItem(interactions: Interactions): Float64Array {
  const counts = new Float64Array(interactions.itemCount);
  const rowShare = 1 / (interactions.items.length + 1); // of any number of rows, less than one positive
  const { items, positive } = interactions;
  for (let row = 0; row < items.length; row++) counts[items[row]!]! += positive[row]! + rowShare;
  return counts;
}

/**
 * The same dataset with its items renumbered.
 *
 * @param order Int32Array(itemCount), a permutation: the item at new index i is the one that had index order[i].
 */
export function reorderItems(dataset: Dataset, order: Int32Array): Dataset {
  const newIndex = new Int32Array(order.length);
  for (const [to, from] of order.entries()) newIndex[from] = to;
  return {
    ...dataset,
    items: renumber(dataset.items, newIndex),
    itemIds: pick(dataset.itemIds, order),
    itemAttributes: dataset.itemAttributes.map((column) => reorderColumn(column, order)),
  };
}

function renumber(items: Int32Array, newIndex: Int32Array): Int32Array {
  const renumbered = new Int32Array(items.length);
  for (let row = 0; row < items.length; row++) renumbered[row] = newIndex[items[row]!]!;
  return renumbered;
}

function pick(strings: PackedStrings, order: Int32Array): PackedStrings {
  const bytes = new Uint8Array(strings.bytes.length);
  const start = new Uint32Array(strings.start.length);
  let end = 0;
  for (const [to, from] of order.entries()) {
    const one = strings.bytes.subarray(strings.start[from]!, strings.start[from + 1]!);
    bytes.set(one, end);
    end += one.length;
    start[to + 1] = end;
  }
  return { bytes, start };
}

function reorderColumn(column: AttributeColumn, order: Int32Array): AttributeColumn {
  switch (column.type) {
    case "Numerical":
    case "Timestamp":
      return { ...column, values: Float64Array.from(order, (from) => column.values[from]!) };
    case "Boolean":
      return { ...column, values: Uint8Array.from(order, (from) => column.values[from]!) };
    default:
      return { ...column, ...reorderCodes(column, order) };
  }
}

type Codes = { readonly start: Uint32Array; readonly codes: Uint32Array };

function reorderCodes(column: Codes, order: Int32Array): Codes {
  const start = new Uint32Array(column.start.length);
  const codes = new Uint32Array(column.codes.length);
  let end = 0;
  for (const [to, from] of order.entries()) {
    const one = column.codes.subarray(column.start[from]!, column.start[from + 1]!);
    codes.set(one, end);
    end += one.length;
    start[to + 1] = end;
  }
  return { start, codes };
}
