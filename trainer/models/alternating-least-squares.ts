import type { Gemm, Matrix } from "../linear-algebra/gemm.ts";
import { factorLower, lowerTriangle, outerProducts, solveLower } from "../linear-algebra/lower-triangle.ts";

/** Who chose what, seen from the users or from the items: row r's partners are positions start[r] … start[r + 1] − 1. */
export type Partners = {
  readonly start: Uint32Array; // [rowCount + 1]
  readonly partners: Int32Array | Uint32Array; // [entryCount]
};

export type LeastSquares = {
  readonly gemm: Gemm;
  /** α: weight of every pair, chosen or not, whose score should be 0. */
  readonly everyPair: number;
  /** Ridge of a row of so many partners. */
  readonly ridgeOf: (count: number) => number;
  /** Called after a bounded piece of work with the share 0…1 that is done; what it throws ends the work. */
  readonly afterPiece: (share: number) => Promise<void>;
};

/** Multiply-adds between two calls of `afterPiece`, unless one row takes more. */
const PIECE = 1e8;

/**
 * One half of an iteration: for each row u the vector of least squares given its partners' vectors v, rows of `fixed`,
 * u = (α VᵀV + Σ v vᵀ + ridge · I)⁻¹ Σ v (Hu, Koren and Volinsky 2008, eq. 4). Rows without partners are zero. [rowCount, rank]
 */
export async function solvedRows(
  { start, partners }: Partners,
  fixed: Matrix,
  { gemm, everyPair, ridgeOf, afterPiece }: LeastSquares,
): Promise<Matrix> {
  const rank = fixed.columns;
  const rowCount = start.length - 1;
  const values = new Float32Array(rowCount * rank);
  const ofAll = await gemm.multiply({ a: fixed, b: fixed, transposeA: true });
  const system = lowerTriangle(rank);
  const sum = new Float64Array(rank);
  const addOuterProducts = outerProducts(rank);
  let work = Number.POSITIVE_INFINITY;
  for (let row = 0; row < rowCount; row++) {
    const own = partners.subarray(start[row], start[row + 1]);
    if (work > PIECE) {
      await afterPiece(row / rowCount);
      work = 0;
    }
    work += (rank * rank * (own.length + rank)) / 2;
    if (own.length === 0) continue;
    const ridge = ridgeOf(own.length);
    for (let i = 0; i < rank; i++) {
      for (let j = 0; j < i; j++) system.values[i * system.stride + j] = everyPair * ofAll.values[i * rank + j]!;
      system.values[i * system.stride + i] = everyPair * ofAll.values[i * rank + i]! + ridge;
    }
    sum.fill(0);
    addOuterProducts(fixed.values, own, system, sum);
    factorLower(system);
    solveLower(system, sum);
    values.set(sum, row * rank);
  }
  return { rows: rowCount, columns: rank, values };
}
