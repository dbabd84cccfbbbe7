import { invertedFactor } from "./cholesky.ts";
import type { Gemm } from "./gemm.ts";
import type { Matrix } from "./matrix.ts";
import { block } from "./matrix.ts";

const TILE = 1024;

/**
 * Inverts a symmetric positive definite matrix in place: A⁻¹ = L⁻ᵀ L⁻¹ from its Cholesky factor (Du Croz and Higham 1992), in
 * about n³ multiply-adds. Throws if the matrix is not positive definite. `afterTile` receives the fraction that is done.
 *
 * Recursion on Schur complements (Strassen 1969) takes two thirds of the work, but is too inaccurate in single precision: its
 * error grows by the condition number at every level. Here it grows once, by the root of the condition number.
 */
export async function invertInPlace(a: Matrix, gemm: Gemm, afterTile?: (fraction: number) => Promise<void>) {
  const size = a.rows;
  await afterTile?.(0);
  const factor = await invertedFactor(a, gemm);
  await afterTile?.(FACTOR_FRACTION);
  for (let from = 0; from < size; from += TILE) {
    const to = Math.min(size, from + TILE);
    // Columns `from` to `to` of the result, down to the diagonal. L⁻¹ is lower triangular, so its rows before `from` are 0 here.
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
    await afterTile?.(FACTOR_FRACTION + (1 - FACTOR_FRACTION) * (to / size));
  }
  return a;
}

/** The fraction of the time that the factorisation takes. */
const FACTOR_FRACTION = 0.7;
