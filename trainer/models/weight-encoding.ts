import {
  type DenseWeights,
  denseWeights,
  longestRow,
  type SparseWeights,
  strongestWeights,
  type WeightMatrix,
} from "./weight-matrix.ts";

/** A weight matrix as its file holds it. With `rowScales`, values are int8 codes: code c of row r is c·|c|·rowScales[r]. */
export type EncodedMatrix = EncodedDense | EncodedSparse | EncodedFactors;

type EncodedValues = {
  readonly rowCount: number;
  readonly columnCount: number;
  readonly rowScales: Float32Array | undefined; // [rowCount]
  readonly valueType: "float32" | "int8";
  readonly values: Float32Array | Int8Array;
};
export type EncodedDense = EncodedValues & { readonly kind: "dense" };
export type EncodedSparse = EncodedValues & {
  readonly kind: "sparse";
  /** The last entry, outside every row, is column 0 with weight 0. */
  readonly start: Int32Array; // [rowCount + 1]
  readonly columnType: "uint16" | "int32";
  readonly columns: Uint16Array | Int32Array;
};
export type EncodedFactors = { readonly kind: "factors"; readonly left: EncodedDense; readonly right: EncodedDense };

export type Encoding = { readonly matrices: readonly EncodedMatrix[]; readonly truncation: string };

/** How much is kept: bits of a value, weights of a row, vectors of a factorisation. */
type Plan = { readonly bits: 8 | 32; readonly keep: number; readonly rank: number };

/** A row longer than this costs time at every request that meets it, for weights that change nothing. */
const ROW_MAX = 1000;
const CODE_MAX = 127;
const SHARES = 1000;

/**
 * The matrices within `bytesMax`, losing as little as may be: exact, else int8 codes, else int8 codes of the strongest
 * weights of each row. Codes are spaced by their square, since most weights are far smaller than their row's largest.
 */
export function encodeWithin(matrices: readonly WeightMatrix[], bytesMax: number): Encoding {
  const longest = Math.max(0, ...matrices.map((matrix) => (matrix.kind === "factors" ? 0 : longestRow(matrix))));
  const rank = Math.max(0, ...matrices.map((matrix) => (matrix.kind === "factors" ? matrix.right.rowCount : 0)));
  const bytesOf = (plan: Plan) => matrices.reduce((sum, matrix) => sum + bytesUnder(matrix, plan), 0);
  const whole: Plan = { bits: 32, keep: Number.POSITIVE_INFINITY, rank };
  const encodedUnder = (plan: Plan) => {
    const cut =
      plan.keep < longest || matrices.some((matrix) => matrix.kind === "sparse" && longestRow(matrix) > ROW_MAX);
    return {
      matrices: matrices.map((matrix) => encodeUnder(matrix, plan)),
      truncation: [
        cut ? `top ${Math.min(plan.keep, ROW_MAX)} weights of each row` : "",
        plan.rank < rank ? `rank ${plan.rank} of ${rank}` : "",
        plan.bits === 8 ? "8-bit weights" : "",
      ]
        .filter(Boolean)
        .join("; "),
    };
  };
  for (const plan of [whole, { ...whole, bits: 8 } as const]) if (bytesOf(plan) <= bytesMax) return encodedUnder(plan);
  const cut = (share: number): Plan => ({
    bits: 8,
    keep: Math.floor((longest * share) / SHARES),
    rank: Math.max(1, Math.floor((rank * share) / SHARES)),
  });
  return encodedUnder(cut(largest(SHARES, (share) => bytesOf(cut(share)) <= bytesMax)));
}

/** The largest integer up to `max` for which the condition, true for small ones, holds; 0 if for none. */
function largest(max: number, holds: (count: number) => boolean): number {
  let [low, high] = [0, max];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (holds(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

function bytesUnder(matrix: WeightMatrix, plan: Plan): number {
  if (matrix.kind === "factors") {
    const scales = plan.bits === 8 ? 4 * (matrix.rowCount + plan.rank) : 0;
    return (plan.rank * (matrix.rowCount + matrix.columnCount) * plan.bits) / 8 + scales;
  }
  return isDenseUnder(matrix, plan) ? denseBytes(matrix, plan.bits) : sparseBytes(matrix, plan);
}

function encodeUnder(matrix: WeightMatrix, plan: Plan): EncodedMatrix {
  if (matrix.kind !== "factors") {
    return isDenseUnder(matrix, plan) ? encodeDense(matrix, plan.bits) : encodeSparse(matrix, plan);
  }
  return {
    kind: "factors",
    left: encodeDense(firstColumns(matrix.left, plan.rank), plan.bits),
    right: encodeDense(firstRows(matrix.right, plan.rank), plan.bits),
  };
}

/** A dense matrix stays dense as long as it fits: rows cut short would save bytes and lose weights. */
const isDenseUnder = (matrix: DenseWeights | SparseWeights, plan: Plan) =>
  plan.keep === Number.POSITIVE_INFINITY &&
  (denseBytes(matrix, plan.bits) <= sparseBytes(matrix, plan) ||
    (matrix.kind === "dense" && matrix.columnCount > ROW_MAX));

const scaleBytes = ({ rowCount }: WeightMatrix, bits: 8 | 32) => (bits === 8 ? 4 * rowCount : 0);
const denseBytes = (matrix: WeightMatrix, bits: 8 | 32) =>
  (matrix.rowCount * matrix.columnCount * bits) / 8 + scaleBytes(matrix, bits);
const columnTypeOf = (matrix: WeightMatrix) => (matrix.columnCount <= 65_536 ? "uint16" : "int32");

function sparseBytes(matrix: DenseWeights | SparseWeights, { bits, keep }: Plan): number {
  const entryBytes = (columnTypeOf(matrix) === "uint16" ? 2 : 4) + bits / 8;
  const fixed = 4 * (matrix.rowCount + 1) + scaleBytes(matrix, bits);
  return (keptCount(matrix, Math.min(keep, ROW_MAX)) + 1) * entryBytes + fixed;
}

/** At most so many weights; exactly so many when no weight of a dense matrix is 0. */
function keptCount(matrix: DenseWeights | SparseWeights, keep: number): number {
  if (matrix.kind === "dense") return matrix.rowCount * Math.min(keep, matrix.columnCount);
  let count = 0;
  for (let row = 0; row < matrix.rowCount; row++) {
    count += Math.min(keep, matrix.start[row + 1]! - matrix.start[row]!);
  }
  return count;
}

function firstRows(matrix: DenseWeights, count: number): DenseWeights {
  return denseWeights(count, matrix.columnCount, matrix.values.subarray(0, count * matrix.columnCount));
}

function firstColumns({ rowCount, columnCount, values }: DenseWeights, count: number): DenseWeights {
  if (count === columnCount) return denseWeights(rowCount, count, values);
  const kept = new Float32Array(rowCount * count);
  for (let row = 0; row < rowCount; row++) {
    kept.set(values.subarray(row * columnCount, row * columnCount + count), row * count);
  }
  return denseWeights(rowCount, count, kept);
}

function encodeDense(matrix: DenseWeights | SparseWeights, bits: 8 | 32): EncodedDense {
  const { rowCount, columnCount } = matrix;
  const values = matrix.kind === "dense" ? matrix.values : scattered(matrix);
  const start = Uint32Array.from({ length: rowCount + 1 }, (_, row) => row * columnCount);
  return { kind: "dense", rowCount, columnCount, ...encodeValues(values, start, bits) };
}

function scattered(matrix: SparseWeights): Float32Array {
  const values = new Float32Array(matrix.rowCount * matrix.columnCount);
  for (let row = 0; row < matrix.rowCount; row++) {
    for (let at = matrix.start[row]!; at < matrix.start[row + 1]!; at++) {
      values[row * matrix.columnCount + matrix.columns[at]!] = matrix.values[at]!;
    }
  }
  return values;
}

function encodeSparse(matrix: DenseWeights | SparseWeights, { bits, keep }: Plan): EncodedSparse {
  const kept = strongestWeights(matrix, Math.min(keep, ROW_MAX));
  const columnType = columnTypeOf(matrix);
  const size = kept.columns.length + 1;
  const columns = columnType === "uint16" ? new Uint16Array(size) : new Int32Array(size);
  columns.set(kept.columns);
  const values = new Float32Array(size);
  values.set(kept.values);
  const { rowCount, columnCount, start } = kept;
  const encoded = encodeValues(values, start, bits);
  return { kind: "sparse", rowCount, columnCount, start: Int32Array.from(start), columnType, columns, ...encoded };
}

function encodeValues(values: Float32Array, start: Uint32Array, bits: 8 | 32) {
  if (bits === 32) return { rowScales: undefined, valueType: "float32", values } as const;
  const rowScales = new Float32Array(start.length - 1);
  const codes = new Int8Array(values.length);
  for (let row = 0; row < rowScales.length; row++) {
    let peak = 0;
    for (let at = start[row]!; at < start[row + 1]!; at++) peak = Math.max(peak, Math.abs(values[at]!));
    rowScales[row] = peak / CODE_MAX ** 2;
    for (let at = start[row]!; at < start[row + 1]!; at++) {
      const size = peak === 0 ? 0 : Math.round(CODE_MAX * Math.sqrt(Math.abs(values[at]!) / peak));
      codes[at] = values[at]! < 0 ? -size : size;
    }
  }
  return { rowScales, valueType: "int8", values: codes } as const;
}
