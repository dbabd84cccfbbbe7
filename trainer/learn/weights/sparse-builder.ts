import { nthLargest } from "./nth-largest.ts";
import type { RowSum } from "./row-sum.ts";
import type { SparseWeights } from "./weight-matrix.ts";

/** Collects the rows of a sparse matrix in ascending order. */
export type SparseBuilder = {
  /** Adds an entry to the open row. Zeros are not stored. */
  add(column: number, value: number): void;
  /** Closes the open row and opens the next. */
  endRow(): void;
  build(): SparseWeights;
};

export function sparseBuilder(rowCount: number, columnCount: number): SparseBuilder {
  const start = new Uint32Array(rowCount + 1);
  let columns = new Int32Array(Math.max(1024, rowCount));
  let values = new Float32Array(columns.length);
  let [row, count] = [0, 0];
  const grow = () => {
    const [oldColumns, oldValues] = [columns, values];
    columns = new Int32Array(2 * count);
    values = new Float32Array(2 * count);
    columns.set(oldColumns);
    values.set(oldValues);
  };
  return {
    add(column, value) {
      if (value === 0) return;
      if (count === columns.length) grow();
      columns[count] = column;
      values[count++] = value;
    },
    endRow() {
      start[++row] = count;
    },
    build: () => ({
      kind: "sparse",
      rowCount,
      columnCount,
      start: start.fill(count, row + 1),
      columns: columns.slice(0, count),
      values: values.slice(0, count),
    }),
  };
}

/** The transposed matrix; the columns of each row ascend. */
export function transposed({ rowCount, columnCount, ...from }: SparseWeights): SparseWeights {
  const start = new Uint32Array(columnCount + 1);
  for (const column of from.columns) start[column + 1]!++;
  for (let column = 0; column < columnCount; column++) start[column + 1]! += start[column]!;
  const next = start.slice();
  const columns = new Int32Array(from.columns.length);
  const values = new Float32Array(columns.length);
  for (let row = 0; row < rowCount; row++) {
    for (let at = from.start[row]!; at < from.start[row + 1]!; at++) {
      const to = next[from.columns[at]!]!++;
      columns[to] = row;
      values[to] = from.values[at]!;
    }
  }
  return { kind: "sparse", rowCount: columnCount, columnCount: rowCount, start, columns, values };
}

/** Rows `from` … `to` − 1 as a matrix, which shares its columns and values with the whole. */
export function rowRange(matrix: SparseWeights, from: number, to: number): SparseWeights {
  const [first, end] = [matrix.start[from]!, matrix.start[to]!];
  return {
    ...matrix,
    rowCount: to - from,
    start: matrix.start.slice(from, to + 1).map((at) => at - first),
    columns: matrix.columns.subarray(first, end),
    values: matrix.values.subarray(first, end),
  };
}

/** The `keep` columns with the largest `size`, in ascending order. Lower columns win ties. */
export function largestColumns(row: RowSum, keep: number, size: (column: number) => number): Int32Array {
  const columns = row.touched.subarray(0, row.count);
  if (columns.length <= keep) return columns.slice().sort();
  if (keep < 1) return new Int32Array(0);
  const sizes = new Float64Array(columns.length);
  for (let i = 0; i < columns.length; i++) sizes[i] = size(columns[i]!);
  const bar = nthLargest(sizes.slice(), keep);
  const kept = new Int32Array(keep);
  const equal: number[] = [];
  let count = 0;
  for (let i = 0; i < columns.length; i++) {
    if (sizes[i]! > bar) kept[count++] = columns[i]!;
    else if (sizes[i] === bar) equal.push(columns[i]!);
  }
  kept.set(
    Int32Array.from(equal)
      .sort()
      .subarray(0, keep - count),
    count,
  );
  return kept.sort();
}
