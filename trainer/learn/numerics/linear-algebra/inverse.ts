import { invertedFactor } from "./cholesky.ts";
import type { Gemm } from "./gemm.ts";
import type { Matrix } from "./matrix.ts";
import { block } from "./matrix.ts";

const TILE = 1024;

/**
 * The inverse of a symmetric positive definite matrix, P = L⁻ᵀ L⁻¹ from its Cholesky factor (Du Croz and Higham 1992), the products
 * through `gemm`: about n³ multiply-adds. In place: the matrix is overwritten. Throws when a pivot is not positive.
 *
 * The Schur complements of explicit inverses (Strassen 1969) take two thirds of that, and are no use in single precision:
 * their error grows by the condition at every level, this one by its root once.
 */
export async function invertInPlace(a: Matrix, gemm: Gemm, afterTile?: (share: number) => Promise<void>) {
  const size = a.rows;
  await afterTile?.(0);
  const factor = await invertedFactor(a, gemm);
  await afterTile?.(FACTOR_SHARE);
  for (let from = 0; from < size; from += TILE) {
    const to = Math.min(size, from + TILE);
    // Columns `from` to `to`, down to the diagonal: L⁻¹ is lower triangular, so only its rows from `from` on count.
    const left = block(factor, [from, size], [0, to]);
    const right = block(factor, [from, size], [from, to]);
    const { values } = await gemm.multiply({ a: left, b: right, transposeA: true });
    const width = to - from;
    for (let row = 0; row < to; row++) {
      for (let column = Math.max(row, from); column < to; column++) {
        const value = values[row * width + column - from]!;
        a.values[row * size + column] = value;
        a.values[column * size + row] = value;
      }
    }
    await afterTile?.(FACTOR_SHARE + (1 - FACTOR_SHARE) * (to / size));
  }
  return a;
}

const FACTOR_SHARE = 0.7;
