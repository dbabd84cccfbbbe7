import { longestRow, strongestWeights, type WeightMatrix } from "./weight-matrix.ts";

/** A weight matrix as its file holds it. With `rowScales`, values are int8 codes: code c of row r is c·|c|·rowScales[r]. */
export type EncodedMatrix = {
  readonly rowCount: number;
  readonly columnCount: number;
  readonly rowScales: Float32Array | undefined; // [rowCount]
  readonly valueType: "float32" | "int8";
  readonly values: Float32Array | Int8Array;
} & (
  | { readonly kind: "dense" }
  | {
      readonly kind: "sparse";
      /** The last entry, outside every row, is column 0 with weight 0. */
      readonly start: Int32Array; // [rowCount + 1]
      readonly columnType: "uint16" | "int32";
      readonly columns: Uint16Array | Int32Array;
    }
);

export type Encoding = { readonly matrices: readonly EncodedMatrix[]; readonly truncation: string };

/** A row longer than this costs time at every request that meets it, for weights that change nothing. */
const ROW_MAX = 1000;
const CODE_MAX = 127;

/**
 * The matrices within `bytesMax`, losing as little as may be: exact, else int8 codes, else int8 codes of the strongest
 * weights of each row. Codes are spaced by their square, since most weights are far smaller than their row's largest.
 */
export function encodeWithin(matrices: readonly WeightMatrix[], bytesMax: number): Encoding {
  if (matrices.length === 0) return { matrices: [], truncation: "" };
  const longest = Math.max(...matrices.map(longestRow));
  const plans = [
    { keep: longest, bits: 32 },
    { keep: longest, bits: 8 },
  ] as const;
  for (const plan of plans) {
    const forms = matrices.map((matrix) => cheapestForm(matrix, plan.keep, plan.bits));
    if (forms.reduce((sum, form) => sum + form.bytes, 0) > bytesMax) continue;
    return { matrices: forms.map((form) => form.encode()), truncation: described(forms, plan.bits) };
  }
  const keep = largest(longest, (count) => {
    const bytes = matrices.reduce((sum, matrix) => sum + sparseBytes(matrix, count, 8), 0);
    return bytes <= bytesMax;
  });
  const truncation = `top ${keep} weights of each row; 8-bit weights`;
  return { matrices: matrices.map((matrix) => encodeSparse(matrix, keep, 8)), truncation };
}

type Form = { readonly bytes: number; readonly cut: boolean; readonly encode: () => EncodedMatrix };

function cheapestForm(matrix: WeightMatrix, longest: number, bits: 8 | 32): Form {
  const dense = denseBytes(matrix, bits);
  const keep = Math.min(longest, ROW_MAX);
  const sparse = sparseBytes(matrix, longest, bits);
  if (dense <= sparse) return { bytes: dense, cut: false, encode: () => encodeDense(matrix, bits) };
  const cut = longestRow(matrix) > keep;
  return { bytes: sparseBytes(matrix, keep, bits), cut, encode: () => encodeSparse(matrix, keep, bits) };
}

const described = (forms: readonly Form[], bits: 8 | 32) =>
  [forms.some((form) => form.cut) ? `top ${ROW_MAX} weights of each row` : "", bits === 8 ? "8-bit weights" : ""]
    .filter(Boolean)
    .join("; ");

const scaleBytes = ({ rowCount }: WeightMatrix, bits: 8 | 32) => (bits === 8 ? 4 * rowCount : 0);
const denseBytes = (matrix: WeightMatrix, bits: 8 | 32) =>
  (matrix.rowCount * matrix.columnCount * bits) / 8 + scaleBytes(matrix, bits);
const columnTypeOf = (matrix: WeightMatrix) => (matrix.columnCount <= 65_536 ? "uint16" : "int32");

function sparseBytes(matrix: WeightMatrix, keep: number, bits: 8 | 32): number {
  const entryBytes = (columnTypeOf(matrix) === "uint16" ? 2 : 4) + bits / 8;
  return keptCount(matrix, keep) * entryBytes + 4 * (matrix.rowCount + 1) + scaleBytes(matrix, bits);
}

function keptCount(matrix: WeightMatrix, keep: number): number {
  if (matrix.kind === "dense") return matrix.rowCount * Math.min(keep, matrix.columnCount);
  let count = 0;
  for (let row = 0; row < matrix.rowCount; row++) {
    count += Math.min(keep, matrix.start[row + 1]! - matrix.start[row]!);
  }
  return count;
}

/** The largest count from 0 to `max` for which the condition, true for small ones, holds; 0 if for none. */
function largest(max: number, holds: (count: number) => boolean): number {
  let [low, high] = [0, max];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (holds(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

function encodeDense(matrix: WeightMatrix, bits: 8 | 32): EncodedMatrix {
  const { rowCount, columnCount } = matrix;
  const values = matrix.kind === "dense" ? matrix.values : scattered(matrix);
  const start = Uint32Array.from({ length: rowCount + 1 }, (_, row) => row * columnCount);
  return { kind: "dense", rowCount, columnCount, ...encodeValues(values, start, bits) };
}

function scattered(matrix: WeightMatrix & { kind: "sparse" }): Float32Array {
  const values = new Float32Array(matrix.rowCount * matrix.columnCount);
  for (let row = 0; row < matrix.rowCount; row++) {
    for (let at = matrix.start[row]!; at < matrix.start[row + 1]!; at++) {
      values[row * matrix.columnCount + matrix.columns[at]!] = matrix.values[at]!;
    }
  }
  return values;
}

function encodeSparse(matrix: WeightMatrix, keep: number, bits: 8 | 32): EncodedMatrix {
  const kept = strongestWeights(matrix, keep);
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
