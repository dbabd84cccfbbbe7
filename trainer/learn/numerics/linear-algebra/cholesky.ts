import type { Gemm } from "./gemm.ts";
import type { Matrix } from "./matrix.ts";
import { block, place } from "./matrix.ts";

/**
 * The Cholesky factor of a symmetric positive definite matrix, in tiles: A = L Lᵀ.
 *
 * Each tile row i of L is stored transposed, as a matrix of (i + 1)·tile rows and `tile` columns. The part left of tile
 * (i, k) is then the beginning of an array, and each step is one large product (left-looking, Golub & Van Loan 4.2.6).
 */
export type Cholesky = {
  readonly size: number;
  readonly tile: number;
  /** Entry i is tile row i of L, transposed. Its diagonal tile is replaced by the inverse of that tile. */
  readonly rows: readonly Float32Array[];
};

/** The lower triangle of a symmetric matrix in the layout of `Cholesky`. Filled by `setLower`, overwritten by `factor`. */
export type SymmetricTiles = Cholesky;

const TILE = 1024;
/** For smaller matrices, a call of a product costs more than its arithmetic. */
const LEAF = 64;

/** A symmetric matrix of zeros. Takes 2·size² bytes. */
export function symmetricTiles(size: number, tile = Math.min(TILE, Math.max(1, size))): SymmetricTiles {
  const rows = Array.from({ length: Math.ceil(size / tile) }, (_, i) => {
    const width = widthOf({ size, tile }, i);
    return new Float32Array((i * tile + width) * width);
  });
  return { size, tile, rows };
}

/** Sets a row up to its diagonal from `values` [≥ row + 1]; later values are ignored. */
export function setLower(matrix: SymmetricTiles, row: number, values: Float32Array | Float64Array): void {
  const i = Math.floor(row / matrix.tile);
  const width = widthOf(matrix, i);
  const own = row - i * matrix.tile;
  const into = matrix.rows[i]!;
  // Column c of the row is row c of the panel, which is transposed. The diagonal tile holds both triangles.
  for (let column = 0; column <= row; column++) into[column * width + own] = values[column]!;
  for (let column = i * matrix.tile; column < row; column++) {
    into[row * width + (column - i * matrix.tile)] = values[column]!;
  }
}

/** Adds amount(row) to each diagonal entry. */
export function addDiagonal(matrix: SymmetricTiles, amount: (row: number) => number): void {
  for (let row = 0; row < matrix.size; row++) {
    const i = Math.floor(row / matrix.tile);
    matrix.rows[i]![row * widthOf(matrix, i) + (row - i * matrix.tile)]! += amount(row);
  }
}

/** Factors in place. Throws if the matrix is not positive definite. `afterTile` receives the fraction that is done. */
export async function factor(matrix: SymmetricTiles, gemm: Gemm, afterTile?: (fraction: number) => Promise<void>) {
  const { tile, rows } = matrix;
  for (let k = 0; k < rows.length; k++) {
    const above = k * tile;
    const left = panel(matrix, k, 0, above);
    const inverse = await invertedFactor(await remainder(matrix, gemm, k, k), gemm);
    for (let i = k + 1; i < rows.length; i++) {
      // (L_ik)ᵀ = L_kk⁻¹ (A_ik − Σ L_ij L_kjᵀ)ᵀ
      const rest = await remainder(matrix, gemm, i, k);
      const { values } = await gemm.multiply({ a: inverse, b: rest });
      panel(matrix, i, above, left.columns).values.set(values);
    }
    panel(matrix, k, above, left.columns).values.set(inverse.values);
    await afterTile?.(((k + 1) / rows.length) ** 2);
  }
  return matrix as Cholesky;
}

/** (A_ik − Σ_{j<k} L_ij L_kjᵀ)ᵀ */
async function remainder(matrix: SymmetricTiles, gemm: Gemm, i: number, k: number): Promise<Matrix> {
  const above = k * matrix.tile;
  const own = panel(matrix, i, above, widthOf(matrix, k));
  if (k === 0) return own;
  const [a, b] = [panel(matrix, k, 0, above), panel(matrix, i, 0, above)];
  return gemm.multiply({ a, b, transposeA: true, alpha: -1, plus: own });
}

/** Solves A X = B; X replaces B [size, columns]. */
export async function solve(
  cholesky: Cholesky,
  b: Matrix,
  gemm: Gemm,
  afterTile?: (fraction: number) => Promise<void>,
): Promise<Matrix> {
  const { tile, rows, size } = cholesky;
  const part = (i: number, count = 1) => {
    const [from, to] = [i * tile, Math.min(size, (i + count) * tile)];
    return { rows: to - from, columns: b.columns, values: b.values.subarray(from * b.columns, to * b.columns) };
  };
  for (let i = 0; i < rows.length; i++) {
    const own = part(i);
    const left = panel(cholesky, i, 0, i * tile);
    const rest =
      i === 0 ? own : await gemm.multiply({ a: left, b: part(0, i), transposeA: true, alpha: -1, plus: own });
    own.values.set((await gemm.multiply({ a: diagonal(cholesky, i), b: rest })).values);
    await afterTile?.(((i + 1) / rows.length) ** 2 / 2);
  }
  for (let i = rows.length - 1; i >= 0; i--) {
    const own = part(i);
    let rest: Matrix = own;
    for (let j = i + 1; j < rows.length; j++) {
      rest = await gemm.multiply({ a: panel(cholesky, j, i * tile, own.rows), b: part(j), alpha: -1, plus: rest });
    }
    own.values.set((await gemm.multiply({ a: diagonal(cholesky, i), b: rest, transposeA: true })).values);
    await afterTile?.(0.5 + ((rows.length - i) / rows.length) ** 2 / 2);
  }
  return b;
}

/** L⁻¹ of a symmetric matrix A = L Lᵀ, by recursion on halves with products by `gemm`. */
export async function invertedFactor(a: Matrix, gemm: Gemm): Promise<Matrix> {
  const size = a.rows;
  if (size <= LEAF) return invertedFactorPlain(a);
  const half = size >> 1;
  const top = await invertedFactor(block(a, [0, half], [0, half]), gemm);
  const left = await gemm.multiply({ a: block(a, [half, size], [0, half]), b: top, transposeB: true });
  const rest = block(a, [half, size], [half, size]);
  const bottom = await invertedFactor(
    await gemm.multiply({ a: left, b: left, transposeB: true, alpha: -1, plus: rest }),
    gemm,
  );
  const corner = await gemm.multiply({ a: bottom, b: await gemm.multiply({ a: left, b: top }), alpha: -1 });
  const whole = { rows: size, columns: size, values: new Float32Array(size * size) };
  place(top, whole, 0, 0);
  place(corner, whole, half, 0);
  place(bottom, whole, half, half);
  return whole;
}

/** L⁻¹ of a small matrix in double precision: L row by row, then L⁻¹ by forward substitution. */
function invertedFactorPlain({ rows: size, values }: Matrix): Matrix {
  const l = new Float64Array(size * size);
  for (let i = 0; i < size; i++) {
    for (let j = 0; j <= i; j++) {
      let sum = values[i * size + j]!;
      for (let k = 0; k < j; k++) sum -= l[i * size + k]! * l[j * size + k]!;
      if (i === j && !(sum > 0)) throw new Error(`The matrix is not positive definite: pivot ${i} is ${sum}.`);
      l[i * size + j] = i === j ? Math.sqrt(sum) : sum / l[j * size + j]!;
    }
  }
  const inverse = new Float32Array(size * size);
  for (let column = 0; column < size; column++) {
    for (let i = column; i < size; i++) {
      let sum = i === column ? 1 : 0;
      for (let k = column; k < i; k++) sum -= l[i * size + k]! * inverse[k * size + column]!;
      inverse[i * size + column] = sum / l[i * size + i]!;
    }
  }
  return { rows: size, columns: size, values: inverse };
}

const widthOf = ({ size, tile }: Pick<SymmetricTiles, "size" | "tile">, i: number) => Math.min(tile, size - i * tile);

/** `count` rows of the transposed tile row i, from row `from`. */
function panel(matrix: SymmetricTiles, i: number, from: number, count: number): Matrix {
  const columns = widthOf(matrix, i);
  return { rows: count, columns, values: matrix.rows[i]!.subarray(from * columns, (from + count) * columns) };
}

const diagonal = (matrix: Cholesky, i: number) => panel(matrix, i, i * matrix.tile, widthOf(matrix, i));
