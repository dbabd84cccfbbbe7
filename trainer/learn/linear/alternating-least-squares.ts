import type { Gemm } from "../numerics/linear-algebra/gemm.ts";
import {
  addLower,
  factorLower,
  lowerTriangle,
  setRidged,
  solveLower,
} from "../numerics/linear-algebra/lower-triangle.ts";
import type { Matrix } from "../numerics/linear-algebra/matrix.ts";
import type { OuterProducts, RowLists } from "../numerics/linear-algebra/outer-products.ts";

/**
 * Interactions by row, where rows are users and partners items, or the reverse. Row r's partners are positions
 * start[r] … start[r + 1] − 1.
 */
export type Partners = {
  readonly start: Uint32Array; // [rowCount + 1]
  readonly partners: Int32Array | Uint32Array; // [entryCount]
  /** Rows with at least one partner, longest lists first, so that the lists of one batch have similar lengths. */
  readonly order: Uint32Array;
};

export function partnersOf(start: Uint32Array, partners: Int32Array | Uint32Array): Partners {
  const lengthOf = (row: number) => start[row + 1]! - start[row]!;
  const order = Uint32Array.from({ length: start.length - 1 }, (_, row) => row)
    .filter((row) => lengthOf(row) > 0)
    .sort((a, b) => lengthOf(b) - lengthOf(a) || a - b);
  return { start, partners, order };
}

export type LeastSquares = {
  readonly gemm: Gemm;
  readonly outerProducts: OuterProducts;
  /** α: weight of every user–item pair's score towards 0. */
  readonly everyPair: number;
  /** Ridge of a row with `count` partners. */
  readonly ridgeOf: (count: number) => number;
  /** Called before each batch with the fraction 0…1 that is done. If it throws, the work ends. */
  readonly beforePiece: (fraction: number) => Promise<void>;
};

/**
 * Half an iteration: solves each row's vector u from its partners' vectors v, which are rows of `fixed`:
 * u = (α VᵀV + Σ v vᵀ + ridge · I)⁻¹ Σ v (Hu, Koren and Volinsky 2008, eq. 4). Rows without partners are zero. [rowCount, rank]
 */
export async function solvedRows(
  { start, partners, order }: Partners,
  fixed: Matrix,
  { gemm, outerProducts, everyPair, ridgeOf, beforePiece }: LeastSquares,
): Promise<Matrix> {
  const rank = fixed.columns;
  const rows = start.length - 1;
  const values = new Float32Array(rows * rank);
  const gram = await gemm.multiply({ a: fixed, b: fixed, transposeA: true });
  const padded = withZeroRow(fixed);
  const system = lowerTriangle(rank);
  const sum = new Float64Array(rank);
  let done = 0;
  for (const batch of batchesOf({ start, order, rank })) {
    await beforePiece(done / order.length);
    const lists = listsOf(batch, partners, fixed.rows);
    const { products, vectors } = await outerProducts.sums(padded, lists);
    for (const [i, { row, from, to }] of batch.entries()) {
      if (from === start[row]!) {
        setRidged(system, gram.values, { factor: everyPair, ridge: ridgeOf(start[row + 1]! - from) });
        sum.fill(0);
      }
      addLower(system, products.subarray(i * rank * rank, (i + 1) * rank * rank));
      for (let k = 0; k < rank; k++) sum[k]! += vectors[i * rank + k]!;
      if (to < start[row + 1]!) continue;
      factorLower(system);
      solveLower(system, sum);
      values.set(sum, row * rank);
      done++;
    }
  }
  return { rows, columns: rank, values };
}

/** Part of a row's partners: positions from … to − 1. */
type Part = { readonly row: number; readonly from: number; readonly to: number };

/** Longest part. */
const PART_MAX = 1024;
/** Largest number of floats that a batch gathers, and that it returns: 8 MB each. */
const BATCH_MAX = 2 ** 21;

/** The rows in order, in batches of bounded size; long rows are split into parts of equal length. */
function* batchesOf({ start, order, rank }: Pick<Partners, "start" | "order"> & { readonly rank: number }) {
  let batch: Part[] = [];
  let longest = 0;
  for (const row of order) {
    const [first, end] = [start[row]!, start[row + 1]!];
    const size = Math.ceil((end - first) / Math.ceil((end - first) / PART_MAX));
    for (let from = first; from < end; from += size) {
      const count = batch.length + 1;
      if (count > 1 && count * rank * Math.max(rank, longest, size) > BATCH_MAX) {
        yield batch;
        batch = [];
        longest = 0;
      }
      batch.push({ row, from, to: Math.min(end, from + size) });
      longest = Math.max(longest, size);
    }
  }
  if (batch.length > 0) yield batch;
}

/** @param zeroRow Index of the row of zeros that pads the shorter lists. */
function listsOf(batch: readonly Part[], partners: Int32Array | Uint32Array, zeroRow: number): RowLists {
  const length = batch.reduce((longest, { from, to }) => Math.max(longest, to - from), 0);
  const rows = new Int32Array(batch.length * length).fill(zeroRow);
  for (const [i, { from, to }] of batch.entries()) rows.set(partners.subarray(from, to), i * length);
  return { count: batch.length, length, rows };
}

function withZeroRow({ rows, columns, values }: Matrix): Matrix {
  const longer = new Float32Array((rows + 1) * columns);
  longer.set(values);
  return { rows: rows + 1, columns, values: longer };
}
