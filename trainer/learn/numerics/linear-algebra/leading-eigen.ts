import { invertedFactor } from "./cholesky.ts";
import type { Gemm } from "./gemm.ts";
import type { Matrix } from "./matrix.ts";
import { symmetricEigen } from "./symmetric-eigen.ts";

export type LeadingEigen = {
  /** Largest first. */
  readonly values: Float64Array; // [count]
  /** Orthonormal columns. */
  readonly vectors: Matrix; // [size, count]
};

type Options = {
  readonly size: number;
  readonly count: number;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly gemm: Gemm;
};

const ITERATIONS = 5;
/** Vectors besides those that are wanted, which speed up convergence. */
const EXTRA = 32;
/** Shift, as a fraction of the mean length of the images. */
const SHIFT = 1e-2;

/**
 * The leading eigenvectors of a symmetric positive semidefinite matrix, by subspace iteration with some extra vectors (Halko,
 * Martinsson & Tropp 2011). The matrix is given by its product with a block of vectors [size, width].
 */
export async function leadingEigen(
  apply: (vectors: Matrix) => Promise<Matrix>,
  { size, count, random, gemm }: Options,
): Promise<LeadingEigen> {
  const width = Math.min(size, count + EXTRA);
  const start = Float32Array.from({ length: size * width }, () => random() - 0.5);
  let basis = await orthonormal({ rows: size, columns: width, values: start }, gemm);
  for (let i = 0; i < ITERATIONS; i++) basis = await orthonormal(shifted(await apply(basis), basis), gemm);
  const image = await apply(basis);
  const small = await gemm.multiply({ a: basis, b: image, transposeA: true });
  const { values, vectors } = symmetricEigen(symmetrised(small), width);
  const kept = Math.min(count, width);
  const turn = { rows: kept, columns: width, values: Float32Array.from(vectors.subarray(0, kept * width)) };
  return { values: values.slice(0, kept), vectors: await gemm.multiply({ a: basis, b: turn, transposeB: true }) };
}

/**
 * The image under the matrix plus a small multiple of the identity. The eigenvectors and their order are the same, and no
 * direction is lost when the matrix has a low rank.
 */
function shifted(image: Matrix, basis: Matrix): Matrix {
  let squares = 0;
  for (const value of image.values) squares += value ** 2;
  const shift = SHIFT * Math.sqrt(squares / image.columns) || 1;
  return { ...image, values: image.values.map((value, i) => value + shift * basis.values[i]!) };
}

/** Cholesky QR in three passes. The ridge of a pass makes the next one well conditioned (Fukaya et al. 2020). */
async function orthonormal(block: Matrix, gemm: Gemm): Promise<Matrix> {
  let basis = normalised(block);
  for (const ridge of [1e-5, 1e-6, 0]) {
    const gram = await gemm.multiply({ a: basis, b: basis, transposeA: true });
    for (let i = 0; i < gram.rows; i++) gram.values[i * gram.columns + i]! += ridge + 1e-12;
    basis = await gemm.multiply({ a: basis, b: await invertedFactor(gram, gemm), transposeB: true });
  }
  return basis;
}

/** Scales columns to length 1; a column of zeros becomes a unit vector. */
function normalised({ rows, columns, values }: Matrix): Matrix {
  const lengths = new Float64Array(columns);
  for (let i = 0; i < values.length; i++) lengths[i % columns]! += values[i]! ** 2;
  const scaled = values.map((value, i) => value / Math.sqrt(lengths[i % columns]! || 1));
  for (let column = 0; column < columns; column++) {
    if (lengths[column] === 0) scaled[(column % rows) * columns + column] = 1;
  }
  return { rows, columns, values: scaled };
}

function symmetrised({ rows, values }: Matrix): Float64Array {
  return Float64Array.from(values, (value, i) => (value + values[(i % rows) * rows + Math.floor(i / rows)]!) / 2);
}
