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
  const picked = pickSlices({ start, values: bytes }, positions, (length) => new Uint8Array(length));
  return { bytes: picked.values, start: picked.start };
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
    case "Vector": {
      const { width } = column;
      const values = new Float32Array(positions.length * width);
      for (const [to, from] of positions.entries())
        values.set(column.values.subarray(from * width, (from + 1) * width), to * width);
      return { ...column, values };
    }
    case "Boolean":
      return { ...column, values: Uint8Array.from(positions, (from) => column.values[from]!) };
    default: {
      const { start, codes: values } = column;
      const picked = pickSlices({ start, values }, positions, (length) => new Uint32Array(length));
      return { ...column, start: picked.start, codes: picked.values };
    }
  }
}

type Slices<Values> = { readonly start: Uint32Array; readonly values: Values };

/** The slices at some positions, one behind the other. */
function pickSlices<Values extends Uint8Array | Uint32Array>(
  { start, values }: Slices<Values>,
  positions: Int32Array,
  make: (length: number) => Values,
): Slices<Values> {
  const ends = new Uint32Array(positions.length + 1);
  for (const [to, from] of positions.entries()) ends[to + 1] = ends[to]! + start[from + 1]! - start[from]!;
  const picked = make(ends.at(-1)!);
  for (const [to, from] of positions.entries()) picked.set(values.subarray(start[from]!, start[from + 1]!), ends[to]!);
  return { start: ends, values: picked };
}
