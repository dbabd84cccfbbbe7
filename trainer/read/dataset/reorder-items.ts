import type { PackedStrings } from "../../../shared/packed-strings.ts";
import type { AttributeColumn, Dataset } from "./dataset.ts";

/**
 * Renumbers the items of a dataset. Withdrawn items come last, in their own order.
 *
 * @param given A permutation of the item indices: the item at new index i had the index order[i].
 */
export function reorderItems(dataset: Dataset, given: Int32Array): Dataset {
  const { withdrawn } = dataset;
  const order = withdrawn ? withdrawnLast(given, withdrawn) : given;
  const newIndex = new Int32Array(order.length);
  for (const [to, from] of order.entries()) newIndex[from] = to;
  return {
    ...dataset,
    items: renumber(dataset.items, newIndex),
    itemIds: pickStrings(dataset.itemIds, order),
    itemAttributes: dataset.itemAttributes.map((column) => pickColumn(column, order)),
    ...(withdrawn && {
      withdrawn: Uint8Array.from(order, (from) => withdrawn[from]!),
      listedCount: withdrawn.length - withdrawn.reduce((count, flag) => count + flag, 0),
    }),
  };
}

function withdrawnLast(order: Int32Array, withdrawn: Uint8Array): Int32Array {
  const listed = order.filter((item) => !withdrawn[item]);
  const placed = new Int32Array(order.length);
  placed.set(listed);
  placed.set(
    order.filter((item) => withdrawn[item]),
    listed.length,
  );
  return placed;
}

function renumber(items: Int32Array, newIndex: Int32Array): Int32Array {
  const renumbered = new Int32Array(items.length);
  for (let row = 0; row < items.length; row++) renumbered[row] = newIndex[items[row]!]!;
  return renumbered;
}

/** The strings at some positions, in the order of the positions. */
export function pickStrings({ bytes, start }: PackedStrings, positions: Int32Array): PackedStrings {
  const pickedStart = pickedStarts(start, positions);
  const picked = new Uint8Array(pickedStart.at(-1)!);
  for (const [to, from] of positions.entries()) {
    picked.set(bytes.subarray(start[from]!, start[from + 1]!), pickedStart[to]!);
  }
  return { bytes: picked, start: pickedStart };
}

/** The values at some positions, in the order of the positions. */
export function pickColumn(column: AttributeColumn, positions: Int32Array): AttributeColumn {
  switch (column.type) {
    case "Numerical":
    case "Timestamp":
      return { ...column, values: Float64Array.from(positions, (from) => column.values[from]!) };
    case "Location": {
      const [lat, lon] = [column.lat, column.lon].map((values) =>
        Float64Array.from(positions, (from) => values[from]!),
      );
      return { ...column, lat: lat!, lon: lon! };
    }
    case "Boolean":
      return { ...column, values: Uint8Array.from(positions, (from) => column.values[from]!) };
    default:
      return { ...column, ...pickCodes(column, positions) };
  }
}

type Codes = { readonly start: Uint32Array; readonly codes: Uint32Array };

function pickCodes({ start, codes }: Codes, positions: Int32Array): Codes {
  const pickedStart = pickedStarts(start, positions);
  const picked = new Uint32Array(pickedStart.at(-1)!);
  for (const [to, from] of positions.entries()) {
    picked.set(codes.subarray(start[from]!, start[from + 1]!), pickedStart[to]!);
  }
  return { start: pickedStart, codes: picked };
}

function pickedStarts(start: Uint32Array, positions: Int32Array): Uint32Array {
  const picked = new Uint32Array(positions.length + 1);
  for (const [to, from] of positions.entries()) picked[to + 1] = picked[to]! + start[from + 1]! - start[from]!;
  return picked;
}
