import { nthLargest } from "./nth-largest.ts";
import type { RowSum } from "./row-sum.ts";
import type { SparseWeights } from "./weight-matrix.ts";

/** Collects the rows of a sparse matrix in ascending order. */
export type SparseBuilder = {
  /** Adds an entry to the open row. Zeros are not stored. */
  add(column: number, value: number): void;
  /** Closes the open row and opens the next. */
  endRow(): void;
  /** Ends the builder. Rows that were not closed are empty. */
  build(): SparseWeights;
};

/** Entries of a block: 1 MB of columns and 1 MB of values. */
const BLOCK_ENTRIES = 2 ** 18;

type Block = { readonly columns: Int32Array<ArrayBuffer>; readonly values: Float32Array<ArrayBuffer> };

/**
 * Entries are collected in blocks, and each block is freed as soon as it is copied. Arrays that double would take up to four times the
 * memory of the matrix, half of it for nothing.
 */
export function sparseBuilder(rowCount: number, columnCount: number): SparseBuilder {
  const start = new Uint32Array(rowCount + 1);
  const blocks: Block[] = [];
  let { columns, values } = { columns: new Int32Array(0), values: new Float32Array(0) };
  let [row, count, from] = [0, 0, 0]; // `from`: the first entry of the open block
  const openBlock = () => {
    from = count;
    [columns, values] = [new Int32Array(BLOCK_ENTRIES), new Float32Array(BLOCK_ENTRIES)];
    blocks.push({ columns, values });
  };
  return {
    add(column, value) {
      if (value === 0) return;
      if (count - from === columns.length) openBlock();
      columns[count - from] = column;
      values[count++ - from] = value;
    },
    endRow() {
      start[++row] = count;
    },
    build: () => ({
      kind: "sparse",
      rowCount,
      columnCount,
      start: start.fill(count, row + 1),
      columns: joined(new Int32Array(count), blocks, ({ columns }) => columns),
      values: joined(new Float32Array(count), blocks, ({ values }) => values),
    }),
  };
}

/** Fills an array with the entries of all blocks, the last of which may be partly empty, and frees the blocks' arrays. */
function joined<Entries extends Int32Array<ArrayBuffer> | Float32Array<ArrayBuffer>>(
  into: Entries,
  blocks: readonly Block[],
  entriesOf: (block: Block) => Entries,
): Entries {
  for (const [i, block] of blocks.entries()) {
    const entries = entriesOf(block);
    const to = i * BLOCK_ENTRIES;
    into.set(entries.subarray(0, into.length - to), to);
    entries.buffer.transfer(0);
  }
  return into;
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
