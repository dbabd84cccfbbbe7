import { nthLargest } from "./nth-largest.ts";

/** Weights from source items (rows) to scored items (columns). */
export type WeightMatrix = DenseWeights | SparseWeights | FactorWeights | HopWeights;

export type DenseWeights = {
  readonly kind: "dense";
  readonly rowCount: number;
  readonly columnCount: number;
  readonly values: Float32Array; // [rowCount * columnCount], row-major
};

/** Row r is positions start[r] … start[r + 1] − 1. The columns of a row are distinct, in any order. */
export type SparseWeights = {
  readonly kind: "sparse";
  readonly rowCount: number;
  readonly columnCount: number;
  readonly start: Uint32Array; // [rowCount + 1]
  readonly columns: Int32Array; // [weightCount]
  readonly values: Float32Array; // [weightCount]
};

/** left · right, a matrix of low rank. */
export type FactorWeights = {
  readonly kind: "factors";
  readonly rowCount: number;
  readonly columnCount: number;
  readonly left: DenseWeights; // [rowCount, rank]
  readonly right: DenseWeights; // [rank, columnCount]
};

/**
 * Weights by two hops: from an item to the users who chose it, and from these to their items. The weight from i to j is rowFactors[i] ·
 * columnFactors[j] · the sum of the userFactors of all users who chose both.
 */
export type HopWeights = {
  readonly kind: "hops";
  readonly rowCount: number;
  readonly columnCount: number;
  /** The items of each user, all with the value 1. */
  readonly users: SparseWeights; // [userCount, columnCount]
  readonly rowFactors: Float32Array; // [rowCount]
  readonly userFactors: Float32Array; // [userCount]
  readonly columnFactors: Float32Array; // [columnCount]
};

/** A square factorisation of `size` rows and columns. */
export function factorWeights(
  size: number,
  rank: number,
  { left, right }: { readonly left: Float32Array; readonly right: Float32Array },
): FactorWeights {
  return {
    kind: "factors",
    rowCount: size,
    columnCount: size,
    left: denseWeights(size, rank, left),
    right: denseWeights(rank, size, right),
  };
}

export function denseWeights(rowCount: number, columnCount: number, values: Float32Array): DenseWeights {
  return { kind: "dense", rowCount, columnCount, values };
}

/** into [columnCount] += factor · row */
export function addRow(
  matrix: Exclude<WeightMatrix, HopWeights>,
  row: number,
  factor: number,
  into: Float32Array | Float64Array,
): void {
  if (matrix.kind === "factors") {
    const { left, right } = matrix;
    for (let k = 0; k < right.rowCount; k++) addRow(right, k, factor * left.values[row * right.rowCount + k]!, into);
    return;
  }
  if (matrix.kind === "dense") {
    const offset = row * matrix.columnCount;
    for (let column = 0; column < matrix.columnCount; column++) {
      into[column]! += factor * matrix.values[offset + column]!;
    }
    return;
  }
  for (let at = matrix.start[row]!; at < matrix.start[row + 1]!; at++) {
    into[matrix.columns[at]!]! += factor * matrix.values[at]!;
  }
}

/** The largest number of non-zero weights in a row. */
export function longestRow(matrix: DenseWeights | SparseWeights): number {
  let longest = 0;
  for (let row = 0; row < matrix.rowCount; row++) longest = Math.max(longest, rowLength(matrix, row));
  return longest;
}

function rowLength(matrix: DenseWeights | SparseWeights, row: number): number {
  if (matrix.kind === "sparse") return matrix.start[row + 1]! - matrix.start[row]!;
  let count = 0;
  for (let at = row * matrix.columnCount; at < (row + 1) * matrix.columnCount; at++) if (matrix.values[at]) count++;
  return count;
}

/** The `keep` weights of each row with the largest absolute values. Lower columns win ties. */
export function strongestWeights(matrix: DenseWeights | SparseWeights, keep: number): SparseWeights {
  const start = new Uint32Array(matrix.rowCount + 1);
  for (let row = 0; row < matrix.rowCount; row++) {
    start[row + 1] = start[row]! + Math.min(keep, rowLength(matrix, row));
  }
  const columns = new Int32Array(start[matrix.rowCount]!);
  const values = new Float32Array(columns.length);
  for (let row = 0; row < matrix.rowCount; row++) {
    const entries = rowOf(matrix, row);
    const end = start[row + 1]!;
    const { bar, atBar } = barOf(entries.values, end - start[row]!);
    let [to, atBarLeft] = [start[row]!, atBar];
    for (let i = 0; to < end; i++) {
      const value = entries.values[i]!;
      const size = Math.abs(value);
      if (size < bar || (size === bar && atBarLeft-- <= 0)) continue;
      columns[to] = entries.columns ? entries.columns[i]! : i;
      values[to++] = value;
    }
  }
  return { kind: "sparse", rowCount: matrix.rowCount, columnCount: matrix.columnCount, start, columns, values };
}

type Row = { readonly columns: Int32Array | undefined; readonly values: Float32Array };

function rowOf(matrix: DenseWeights | SparseWeights, row: number): Row {
  if (matrix.kind === "dense") {
    const from = row * matrix.columnCount;
    return { columns: undefined, values: matrix.values.subarray(from, from + matrix.columnCount) };
  }
  const [from, to] = [matrix.start[row]!, matrix.start[row + 1]!];
  return { columns: matrix.columns.subarray(from, to), values: matrix.values.subarray(from, to) };
}

/** The smallest size among the `keep` largest values, and the number of values of exactly that size to keep. */
function barOf(values: Float32Array, keep: number): { readonly bar: number; readonly atBar: number } {
  if (keep === 0) return { bar: Number.POSITIVE_INFINITY, atBar: 0 };
  const sizes = new Float32Array(values.length);
  for (let i = 0; i < values.length; i++) sizes[i] = Math.abs(values[i]!);
  const bar = nthLargest(sizes, keep);
  let above = 0;
  for (const size of sizes) if (size > bar) above++;
  return { bar, atBar: keep - above };
}
