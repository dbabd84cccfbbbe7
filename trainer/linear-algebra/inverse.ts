import type { Gemm, Matrix } from "./gemm.ts";
import { block, place } from "./matrix-block.ts";

const LEAF = 96;

/**
 * The inverse of a symmetric positive definite matrix by 2 × 2 blocks and the Schur complement (Strassen 1969), the
 * products through `gemm`: 2/3·n³ multiply-adds in place of n³, since nothing but products of halves is left.
 * In place: the matrix is overwritten. Throws when a pivot is not positive.
 */
export async function invertInPlace(a: Matrix, gemm: Gemm, afterHalf?: (share: number) => Promise<void>) {
  const size = a.rows;
  if (size <= LEAF) return invertPlain(a);
  const half = size >> 1;
  const p11 = await invertInPlace(block(a, [0, half], [0, half]), gemm);
  const a21 = block(a, [half, size], [0, half]);
  await afterHalf?.(1 / 8);
  const t = await gemm.multiply({ a: a21, b: p11 }); // A₂₁ A₁₁⁻¹
  const rest = block(a, [half, size], [half, size]);
  const schur = await gemm.multiply({ a: t, b: a21, transposeB: true, alpha: -1, plus: rest });
  await afterHalf?.(1 / 2);
  const p22 = await invertInPlace(schur, gemm);
  const p21 = await gemm.multiply({ a: p22, b: t, alpha: -1, into: a21.values });
  await afterHalf?.(3 / 4);
  place(await gemm.multiply({ a: t, b: p21, transposeA: true, alpha: -1, plus: p11 }), a, 0, 0);
  place(p22, a, half, half);
  place(p21, a, half, 0);
  for (let row = 0; row < half; row++) {
    for (let column = half; column < size; column++) {
      a.values[row * size + column] = p21.values[(column - half) * half + row]!;
    }
  }
  return a;
}

/** The clean version: Gauss–Jordan without pivoting, in double precision. */
function invertPlain(a: Matrix): Matrix {
  const size = a.rows;
  const work = Float64Array.from(a.values);
  for (let k = 0; k < size; k++) {
    const pivot = work[k * size + k]!;
    if (!(pivot > 0)) throw new Error(`The matrix is not positive definite: pivot ${k} is ${pivot}.`);
    work[k * size + k] = 1;
    for (let column = 0; column < size; column++) work[k * size + column]! /= pivot;
    for (let row = 0; row < size; row++) {
      if (row === k) continue;
      const factor = work[row * size + k]!;
      work[row * size + k] = 0;
      for (let column = 0; column < size; column++) {
        work[row * size + column]! -= factor * work[k * size + column]!;
      }
    }
  }
  a.values.set(work);
  return a;
}
