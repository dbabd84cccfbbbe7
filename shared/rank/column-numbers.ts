/** The numbers of an attribute column, and their scale in the catalog. */
import type { TableColumn } from "../attributes.ts";
import type { ItemIndex } from "../ids.ts";

export type NumberColumn = Extract<TableColumn, { form: string }>;

/** A function from an item to its number; NaN is missing. */
export function numbersOf(column: NumberColumn): (item: ItemIndex) => number {
  const { keys } = column;
  if (column.form === "plain") return (item) => keys[item]!;
  if (column.form === "based") {
    const below = column.base - 1;
    return (item) => (keys[item] === 0 ? Number.NaN : below + keys[item]!);
  }
  const { values } = column;
  return (item) => (keys[item] === 0 ? Number.NaN : values[keys[item]! - 1]!);
}

type ColumnScale = { readonly mean: number; readonly deviation: number };

/** The scales that were computed, once for each column. A column with changed values is another one, with a scale of its own. */
const scales = new WeakMap<NumberColumn, ColumnScale>();

/** Mean and standard deviation of the numbers of the first `itemCount` items that have one: new items change no scale. */
export function scaleOfColumn(column: NumberColumn, itemCount: number): ColumnScale {
  let scale = scales.get(column);
  if (scale === undefined) {
    scale = computeScale(column, itemCount);
    scales.set(column, scale);
  }
  return scale;
}

function computeScale(column: NumberColumn, itemCount: number): ColumnScale {
  const numberAt = numbersOf(column);
  let [count, mean, squares] = [0, 0, 0]; // squares: the sum of squared distances from the mean, by Welford's method
  for (let item = 0; item < itemCount; item++) {
    const number = numberAt(item as ItemIndex);
    if (Number.isNaN(number)) continue;
    count++;
    const distance = number - mean;
    mean += distance / count;
    squares += distance * (number - mean);
  }
  return { mean, deviation: Math.sqrt(squares / count) };
}
