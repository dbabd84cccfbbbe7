/** Eigenvalues, largest first, and their eigenvectors as rows. */
export type Eigen = {
  readonly values: Float64Array; // [size]
  readonly vectors: Float64Array; // [size * size]
};

const SWEEPS_MAX = 30;

/** All eigenvalues of a small symmetric matrix [size * size], by Jacobi rotations (Golub & Van Loan 8.5). */
export function symmetricEigen(matrix: Float64Array | Float32Array, size: number): Eigen {
  const a = Float64Array.from(matrix);
  const vectors = new Float64Array(size * size);
  for (let i = 0; i < size; i++) vectors[i * size + i] = 1;
  const total = a.reduce((sum, value) => sum + value * value, 0);
  for (let sweep = 0; sweep < SWEEPS_MAX && offDiagonal(a, size) > 1e-18 * total; sweep++) {
    for (let p = 0; p < size - 1; p++) {
      for (let q = p + 1; q < size; q++) rotate(a, vectors, size, [p, q]);
    }
  }
  const order = Array.from({ length: size }, (_, i) => i).sort((i, j) => a[j * size + j]! - a[i * size + i]!);
  const sorted = new Float64Array(size * size);
  for (const [to, from] of order.entries()) {
    sorted.set(vectors.subarray(from * size, (from + 1) * size), to * size);
  }
  return { values: Float64Array.from(order, (i) => a[i * size + i]!), vectors: sorted };
}

function offDiagonal(a: Float64Array, size: number): number {
  let sum = 0;
  for (let i = 0; i < size; i++) for (let j = 0; j < i; j++) sum += 2 * a[i * size + j]! ** 2;
  return sum;
}

/** Makes entry (p, q) zero by a rotation of rows and columns p and q, and applies it to the rows of `vectors`. */
function rotate(a: Float64Array, vectors: Float64Array, size: number, [p, q]: readonly [number, number]): void {
  const apq = a[p * size + q]!;
  if (apq === 0) return;
  const ratio = (a[q * size + q]! - a[p * size + p]!) / (2 * apq);
  const tangent = (ratio >= 0 ? 1 : -1) / (Math.abs(ratio) + Math.sqrt(1 + ratio * ratio));
  const cosine = 1 / Math.sqrt(1 + tangent * tangent);
  const sine = tangent * cosine;
  for (let k = 0; k < size; k++) {
    const [kp, kq] = [a[k * size + p]!, a[k * size + q]!];
    a[k * size + p] = cosine * kp - sine * kq;
    a[k * size + q] = sine * kp + cosine * kq;
  }
  rotateRows(a, size, [p, q], [cosine, sine]);
  rotateRows(vectors, size, [p, q], [cosine, sine]);
}

function rotateRows(
  a: Float64Array,
  size: number,
  [p, q]: readonly [number, number],
  [cosine, sine]: readonly [number, number],
): void {
  for (let k = 0; k < size; k++) {
    const [pk, qk] = [a[p * size + k]!, a[q * size + k]!];
    a[p * size + k] = cosine * pk - sine * qk;
    a[q * size + k] = sine * pk + cosine * qk;
  }
}
