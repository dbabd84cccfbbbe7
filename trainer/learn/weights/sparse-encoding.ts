import { codebook } from "./codebook.ts";
import type { SparseWeights } from "./weight-matrix.ts";

/** A sparse matrix as its files hold it: row r is entries startOf(r) … startOf(r + 1) − 1. */
export type EncodedSparse = {
  readonly rowCount: number;
  readonly columnCount: number;
  /** startOf(r) = blockStart[r / ROWS_PER_BLOCK] + offset[r]: two bytes a row instead of four. */
  readonly blockStart: Int32Array;
  readonly offset: Uint16Array; // [rowCount + 1]
  readonly entries: ExactEntries | CodedEntries;
};

/** The last CHUNK entries belong to no row: chunks of the last rows end within the file. */
export type ExactEntries = {
  readonly kind: "exact";
  readonly columnType: "uint16" | "int32";
  readonly columns: Uint16Array | Int32Array;
  readonly values: Float32Array;
};

/**
 * Column = low + highs[code], or low + 65,536 · high where a file of them is given; weight = levels[code]. A code of 8 bits
 * says both how large the weight is and in which 65,536 columns it stands, while both have room in it.
 */
export type CodedEntries = {
  readonly kind: "coded";
  readonly low: Uint16Array;
  readonly high: Uint8Array | undefined;
  readonly codes: Uint8Array;
  readonly levels: Float32Array; // [CODES]
  readonly highs: Int32Array; // [CODES]
};

/** As they are; as 8-bit codes; as codes that hold the upper part of the column too, in 3 bytes up to 2^20 columns. */
export type EntryForm = "exact" | "coded" | "packed";

export const ROWS_PER_BLOCK = 64;
/** Entries that are read at once. */
export const CHUNK = 32;
/** A row longer than this costs time at every request that meets it, for weights that change nothing. */
export const ROW_MAX = 1000;
const CODES = 256;
const LOW_COLUMNS = 65_536;
/** Fewer than so many sizes of weights would cost more than they save. */
const LEVELS_MIN = 16;

/** Bytes of all files of a matrix of so many rows and entries. */
export function sparseBytes(
  { rowCount, columnCount }: { readonly rowCount: number; readonly columnCount: number },
  entryCount: number,
  form: EntryForm,
): number {
  return (entryCount + CHUNK) * entryBytes(columnCount, form) + 2 * (rowCount + 1) + 4 * blockCount(rowCount);
}

/** Different weights that a form can tell apart. */
export const levelCount = (columnCount: number, form: EntryForm): number =>
  form === "exact"
    ? Number.POSITIVE_INFINITY
    : hasHighFile(columnCount, form)
      ? CODES
      : Math.floor(CODES / highCount(columnCount));

const entryBytes = (columnCount: number, form: EntryForm) =>
  form === "exact" ? (columnCount <= LOW_COLUMNS ? 6 : 8) : hasHighFile(columnCount, form) ? 4 : 3;

const highCount = (columnCount: number) => Math.max(1, Math.ceil(columnCount / LOW_COLUMNS));
const hasHighFile = (columnCount: number, form: EntryForm) =>
  highCount(columnCount) > (form === "packed" ? CODES / LEVELS_MIN : 1);
const blockCount = (rowCount: number) => Math.floor(rowCount / ROWS_PER_BLOCK) + 1;

/** No row may have more than ROW_MAX weights; at most 2^24 columns. */
export function encodeSparse(matrix: SparseWeights, form: EntryForm): EncodedSparse {
  const { rowCount, columnCount, start } = matrix;
  const blockStart = Int32Array.from({ length: blockCount(rowCount) }, (_, block) => start[block * ROWS_PER_BLOCK]!);
  const offset = new Uint16Array(rowCount + 1);
  for (let row = 0; row <= rowCount; row++) offset[row] = start[row]! - blockStart[Math.floor(row / ROWS_PER_BLOCK)]!;
  const entries = form === "exact" ? exactEntries(matrix) : codedEntries(matrix, form);
  return { rowCount, columnCount, blockStart, offset, entries };
}

function exactEntries({ columnCount, ...matrix }: SparseWeights): ExactEntries {
  const size = matrix.columns.length + CHUNK;
  const columnType = columnCount <= LOW_COLUMNS ? "uint16" : "int32";
  const columns = columnType === "uint16" ? new Uint16Array(size) : new Int32Array(size);
  columns.set(matrix.columns);
  const values = new Float32Array(size);
  values.set(matrix.values);
  return { kind: "exact", columnType, columns, values };
}

function codedEntries({ columnCount, columns, values }: SparseWeights, form: EntryForm): CodedEntries {
  const size = columns.length + CHUNK;
  const perHigh = levelCount(columnCount, form);
  const { levels, codeOf } = codebook(values, perHigh);
  const high = hasHighFile(columnCount, form) ? new Uint8Array(size) : undefined;
  const low = new Uint16Array(size);
  const codes = new Uint8Array(size);
  for (let at = 0; at < columns.length; at++) {
    const upper = columns[at]! >>> 16;
    low[at] = columns[at]!;
    codes[at] = codeOf(values[at]!) + (high ? 0 : upper * perHigh);
    if (high) high[at] = upper;
  }
  return {
    kind: "coded",
    low,
    high,
    codes,
    levels: Float32Array.from({ length: CODES }, (_, code) => levels[code % perHigh] ?? 0),
    highs: Int32Array.from({ length: CODES }, (_, code) => (high ? 0 : LOW_COLUMNS * Math.floor(code / perHigh))),
  };
}
