import { codebook } from "./codebook.ts";
import type { SparseWeights } from "./weight-matrix.ts";

/** A sparse matrix as its files hold it: row r is entries startOf(r) … startOf(r + 1) − 1. */
export type EncodedSparse = {
  readonly rowCount: number;
  readonly columnCount: number;
  /** startOf(r) = blockStart[⌊r / ROWS_PER_BLOCK⌋] + offset[r]: two bytes a row instead of four. */
  readonly blockStart: Int32Array; // [⌊rowCount / ROWS_PER_BLOCK⌋ + 1]
  readonly offset: Uint16Array; // [rowCount + 1]
  readonly entries: ExactEntries | CodedEntries;
};

/** Arrays of entries end with CHUNK unused ones, so that the last row's last chunk ends within them. */
export type ExactEntries = Columns & { readonly kind: "exact"; readonly values: Float32Array };

/**
 * Three bytes an entry. Column = low + highs[code] and weight = levels[code]: the code says how large the weight is and, above
 * 65,536 columns, in which 65,536 of them it stands.
 */
export type CodedEntries = {
  readonly kind: "coded";
  readonly low: Uint16Array;
  readonly codes: Uint8Array;
  readonly levels: Float32Array; // [CODES]
  readonly highs: Int32Array; // [CODES]
};

/** A sparse matrix whose weights are all 1, with rows of any length. */
export type EncodedLinks = Columns & {
  readonly rowStart: Int32Array; // [rowCount + 1]
};

type Columns = { readonly columnType: "uint16" | "int32"; readonly columns: Uint16Array | Int32Array };

export const ROWS_PER_BLOCK = 64;
/** Entries that are read at once. */
export const CHUNK = 32;
/** Longer rows would cost time at every request that reads them, for weights that change nothing. */
export const ROW_MAX = 1000;
const CODES = 256;
const LOW_COLUMNS = 65_536;

type Sizes = { readonly rowCount: number; readonly columnCount: number };

/** Bytes of all files of such a matrix with `entryCount` entries. */
export function sparseBytes({ rowCount, columnCount }: Sizes, entryCount: number, isExact: boolean): number {
  const entryBytes = isExact ? (columnCount <= LOW_COLUMNS ? 6 : 8) : 3;
  return (entryCount + CHUNK) * entryBytes + 2 * (rowCount + 1) + 4 * blockCount(rowCount);
}

/** Number of different weights that codes can represent: 256 up to 65,536 columns, 16 at 2^20 columns. */
export const levelCount = (columnCount: number): number => Math.floor(CODES / highCount(columnCount));

const highCount = (columnCount: number) => Math.max(1, Math.ceil(columnCount / LOW_COLUMNS));
const blockCount = (rowCount: number) => Math.floor(rowCount / ROWS_PER_BLOCK) + 1;

/** No row may have more than ROW_MAX weights; at most 2^24 columns. */
export function encodeSparse(matrix: SparseWeights, isExact: boolean): EncodedSparse {
  const { rowCount, columnCount, start } = matrix;
  const blockStart = Int32Array.from({ length: blockCount(rowCount) }, (_, block) => start[block * ROWS_PER_BLOCK]!);
  const offset = new Uint16Array(rowCount + 1);
  for (let row = 0; row <= rowCount; row++) offset[row] = start[row]! - blockStart[Math.floor(row / ROWS_PER_BLOCK)]!;
  return { rowCount, columnCount, blockStart, offset, entries: isExact ? exactEntries(matrix) : codedEntries(matrix) };
}

/** Encodes where a matrix has weights, and not how large these are. */
export const encodeLinks = (matrix: SparseWeights): EncodedLinks => ({
  rowStart: Int32Array.from(matrix.start),
  ...encodedColumns(matrix),
});

/** Bytes of all files of `encodeLinks`. */
export const linkBytes = ({ rowCount, columnCount }: Sizes, entryCount: number): number =>
  (entryCount + CHUNK) * (columnCount <= LOW_COLUMNS ? 2 : 4) + 4 * (rowCount + 1);

function exactEntries(matrix: SparseWeights): ExactEntries {
  const values = new Float32Array(matrix.values.length + CHUNK);
  values.set(matrix.values);
  return { kind: "exact", ...encodedColumns(matrix), values };
}

function encodedColumns({ columnCount, columns: from }: SparseWeights): Columns {
  const size = from.length + CHUNK;
  const columnType = columnCount <= LOW_COLUMNS ? "uint16" : "int32";
  const columns = columnType === "uint16" ? new Uint16Array(size) : new Int32Array(size);
  columns.set(from);
  return { columnType, columns };
}

function codedEntries({ columnCount, columns, values }: SparseWeights): CodedEntries {
  const size = columns.length + CHUNK;
  const perHigh = levelCount(columnCount);
  const { levels, codeOf } = codebook(values, perHigh);
  const low = new Uint16Array(size);
  const codes = new Uint8Array(size);
  for (let at = 0; at < columns.length; at++) {
    low[at] = columns[at]!; // the lower 16 bits
    codes[at] = codeOf(values[at]!) + perHigh * (columns[at]! >>> 16);
  }
  return {
    kind: "coded",
    low,
    codes,
    levels: Float32Array.from({ length: CODES }, (_, code) => levels[code % perHigh] ?? 0),
    highs: Int32Array.from({ length: CODES }, (_, code) => LOW_COLUMNS * Math.floor(code / perHigh)),
  };
}
