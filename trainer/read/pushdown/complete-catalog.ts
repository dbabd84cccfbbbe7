import { bytesAt, compareBytes, countOf, lowerBound, type PackedStrings } from "../../../shared/packed-strings.ts";
import type { AttributeColumn, Dataset } from "../dataset/dataset.ts";
import { byFallingScore, pickColumn, pickStrings } from "../dataset/reorder-items.ts";

/** Every item of a source, sorted by id. */
export type ItemCounts = {
  readonly itemIds: PackedStrings; // [count] rising
  readonly interactions: Float64Array; // [count]
  readonly positives: Float64Array; // [count]
};

/**
 * The dataset with the whole catalog, of which a sample of users shows only a part: items by falling count of positive
 * interactions of all users, equal counts by id; what nobody touched, and is known by its attributes only, stands last.
 */
export function completeCatalog(dataset: Dataset, counts: ItemCounts): Dataset {
  const { all, whereOld } = allIds(dataset.itemIds, counts.itemIds);
  const rowShare = 1 / (counts.interactions.reduce((sum, count) => sum + count, 0) + 1);
  const known = countOf(counts.itemIds);
  const scores = Float64Array.from({ length: countOf(all) }, (_, item) =>
    item < known ? counts.positives[item]! + rowShare * counts.interactions[item]! : 0,
  );
  const order = byFallingScore(scores);
  const newIndex = new Int32Array(order.length);
  for (const [to, from] of order.entries()) newIndex[from] = to;
  const missing = dataset.itemCount; // position of the row that is added to each attribute column
  const oldIndex = new Int32Array(order.length).fill(missing);
  for (const [old, at] of whereOld.entries()) oldIndex[newIndex[at]!] = old;
  return {
    ...dataset,
    itemCount: order.length,
    items: dataset.items.map((old) => newIndex[whereOld[old]!]!),
    itemIds: pickStrings(all, order),
    itemAttributes: dataset.itemAttributes.map((column) => pickColumn(withMissing(column), oldIndex)),
  };
}

/** The sorted ids, then, sorted too, those that only the dataset has; and where each of the dataset's ids is. */
function allIds(own: PackedStrings, sorted: PackedStrings) {
  const whereOld = new Int32Array(countOf(own));
  const extras: number[] = [];
  for (let item = 0; item < whereOld.length; item++) {
    const id = bytesAt(own, item);
    const at = lowerBound(sorted, id);
    if (at < countOf(sorted) && compareBytes(bytesAt(sorted, at), id) === 0) whereOld[item] = at;
    else extras.push(item);
  }
  extras.sort((a, b) => compareBytes(bytesAt(own, a), bytesAt(own, b)));
  for (const [i, item] of extras.entries()) whereOld[item] = countOf(sorted) + i;
  return { all: joined(sorted, pickStrings(own, Int32Array.from(extras))), whereOld };
}

function joined(first: PackedStrings, second: PackedStrings): PackedStrings {
  const bytes = new Uint8Array(first.bytes.length + second.bytes.length);
  bytes.set(first.bytes);
  bytes.set(second.bytes, first.bytes.length);
  const start = new Uint32Array(first.start.length + second.start.length - 1);
  start.set(first.start);
  for (let i = 1; i < second.start.length; i++)
    start[first.start.length + i - 1] = first.bytes.length + second.start[i]!;
  return { bytes, start };
}

/** The column with one more row, which has no value. */
function withMissing(column: AttributeColumn): AttributeColumn {
  switch (column.type) {
    case "Numerical":
    case "Timestamp": {
      const values = new Float64Array(column.values.length + 1).fill(Number.NaN);
      values.set(column.values);
      return { ...column, values };
    }
    case "Boolean": {
      const values = new Uint8Array(column.values.length + 1).fill(255);
      values.set(column.values);
      return { ...column, values };
    }
    default: {
      const start = new Uint32Array(column.start.length + 1).fill(column.start.at(-1)!);
      start.set(column.start);
      return { ...column, start };
    }
  }
}
