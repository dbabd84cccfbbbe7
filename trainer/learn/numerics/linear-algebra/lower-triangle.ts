/**
 * The lower triangle of a small symmetric matrix, row-major in double precision: entry (i, j ≤ i) is values[i · stride + j].
 * Entries above the diagonal are never read. Zeros follow the last row and column, so that loops can take several rows at
 * once. For thousands of systems with tens of unknowns, where a call of onnxruntime costs more than the arithmetic.
 */
export type LowerTriangle = { readonly size: number; readonly stride: number; readonly values: Float64Array };

/** A matrix of zeros. */
export function lowerTriangle(size: number): LowerTriangle {
  const stride = size + (size % 2);
  return { size, stride, values: new Float64Array(stride * (size + ROWS_AT_ONCE)) };
}

/** Rows that the factorisation computes together. */
const ROWS_AT_ONCE = 4;

/** Overwrites the triangle with factor · A + ridge · I, for a whole symmetric matrix A [size * size]. */
export function setRidged(
  { size, stride, values }: LowerTriangle,
  whole: Float32Array,
  { factor, ridge }: { readonly factor: number; readonly ridge: number },
): void {
  for (let i = 0; i < size; i++) {
    for (let j = 0; j <= i; j++) values[i * stride + j] = factor * whole[i * size + j]!;
    values[i * stride + i]! += ridge;
  }
}

/** Adds a whole symmetric matrix [size * size]. */
export function addLower({ size, stride, values }: LowerTriangle, whole: Float32Array): void {
  for (let i = 0; i < size; i++) for (let j = 0; j <= i; j++) values[i * stride + j]! += whole[i * size + j]!;
}

/** Factors A = L Lᵀ in place, column by column (Golub & Van Loan 4.2.5). Throws if the matrix is not positive definite. */
export function factorLower({ size, stride, values }: LowerTriangle): void {
  for (let column = 0; column < size; column++) {
    const own = column * stride;
    let pivot = values[own + column]!;
    for (let k = 0; k < column; k++) pivot -= values[own + k]! ** 2;
    if (!(pivot > 0)) throw new Error(`The matrix is not positive definite: pivot ${column} is ${pivot}.`);
    const root = Math.sqrt(pivot);
    values[own + column] = root;
    for (let row = column + 1; row < size; row += ROWS_AT_ONCE) {
      const [p, q, r, s] = [row * stride, (row + 1) * stride, (row + 2) * stride, (row + 3) * stride] as const;
      let a = values[p + column]!;
      let b = values[q + column]!;
      let c = values[r + column]!;
      let d = values[s + column]!;
      for (let k = 0; k < column; k++) {
        const factor = values[own + k]!;
        a -= factor * values[p + k]!;
        b -= factor * values[q + k]!;
        c -= factor * values[r + k]!;
        d -= factor * values[s + k]!;
      }
      values[p + column] = a / root;
      values[q + column] = b / root;
      values[r + column] = c / root;
      values[s + column] = d / root;
    }
  }
}

/** Solves L Lᵀ x = b with the result of `factorLower`; x replaces b [size]. */
export function solveLower({ size, stride, values }: LowerTriangle, b: Float64Array): void {
  for (let i = 0; i < size; i++) {
    let rest = b[i]!;
    for (let j = 0; j < i; j++) rest -= values[i * stride + j]! * b[j]!;
    b[i] = rest / values[i * stride + i]!;
  }
  for (let i = size - 1; i >= 0; i--) {
    const own = b[i]! / values[i * stride + i]!;
    b[i] = own;
    for (let j = 0; j < i; j++) b[j]! -= values[i * stride + j]! * own;
  }
}
