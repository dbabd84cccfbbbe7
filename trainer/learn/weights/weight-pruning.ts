import type { SparseWeights } from "./weight-matrix.ts";

/** A matrix and a factor for the weights of each row; absent: all rows alike. */
export type PrunablePart = {
  readonly matrix: SparseWeights;
  readonly rowFactors: Float32Array | undefined; // [rowCount]
};

/**
 * Keeps the `keep` weights with the largest |weight| · factor of the row, over all rows of all matrices. The first ones win
 * ties. The matrices must have the same columns; the result stacks them.
 */
export function pruneWeights(parts: readonly PrunablePart[], keep: number): SparseWeights {
  const columnCount = parts[0]!.matrix.columnCount;
  const rowCount = parts.reduce((sum, { matrix }) => sum + matrix.rowCount, 0);
  const total = parts.reduce((sum, { matrix }) => sum + matrix.values.length, 0);
  if (parts.length === 1 && keep >= total) return parts[0]!.matrix;
  const { barBin, quota } = barOf(parts, Math.min(keep, total));
  const start = new Uint32Array(rowCount + 1);
  const columns = new Int32Array(Math.min(keep, total));
  const values = new Float32Array(columns.length);
  let [row, to, equalLeft] = [0, 0, quota];
  for (const { matrix, rowFactors } of parts) {
    for (let own = 0; own < matrix.rowCount; own++) {
      const factor = rowFactors ? rowFactors[own]! : 1;
      for (let at = matrix.start[own]!; at < matrix.start[own + 1]!; at++) {
        const bin = binOf(Math.abs(matrix.values[at]!) * factor);
        if (bin < barBin || (bin === barBin && equalLeft-- <= 0)) continue;
        columns[to] = matrix.columns[at]!;
        values[to++] = matrix.values[at]!;
      }
      start[++row] = to;
    }
  }
  return { kind: "sparse", rowCount, columnCount, start, columns, values };
}

/** The cut: all weights of higher bins are kept, and the first `quota` weights of bin `barBin`. */
function barOf(parts: readonly PrunablePart[], keep: number): { readonly barBin: number; readonly quota: number } {
  const counts = new Uint32Array(BINS);
  for (const { matrix, rowFactors } of parts) {
    for (let row = 0; row < matrix.rowCount; row++) {
      const factor = rowFactors ? rowFactors[row]! : 1;
      for (let at = matrix.start[row]!; at < matrix.start[row + 1]!; at++) {
        counts[binOf(Math.abs(matrix.values[at]!) * factor)]!++;
      }
    }
  }
  let left = keep;
  for (let bin = BINS - 1; bin >= 0; bin--) {
    if (counts[bin]! >= left) return { barBin: bin, quota: left };
    left -= counts[bin]!;
  }
  return { barBin: 0, quota: left };
}

/** Sizes are counted in bins of a 4096th of their value, because sorting the weights of a million rows would double the memory. */
const BINS = 2 ** 20;
const FLOAT = new Float32Array(1);
const BITS = new Uint32Array(FLOAT.buffer);

/** The upper bits of a float32 that is not negative, which ascend with its value. */
function binOf(size: number): number {
  FLOAT[0] = size;
  return BITS[0]! >>> 11;
}
