import type { SparseWeights } from "./weight-matrix.ts";

/** A matrix, and how much the weights of each of its rows count beside those of other rows; absent: all alike. */
export type RatedMatrix = {
  readonly matrix: SparseWeights;
  readonly rowFactors: Float32Array | undefined; // [rowCount]
};

/**
 * The `keep` weights that matter most, over all rows of all matrices: those of largest |weight| · factor of the row, so
 * that rows which are seldom used keep few and strong ones. Of equal ones the first. The matrices stand one below the
 * other in what is given; they must have equally many columns.
 */
export function mostMattering(rated: readonly RatedMatrix[], keep: number): SparseWeights {
  const columnCount = rated[0]!.matrix.columnCount;
  const rowCount = rated.reduce((sum, { matrix }) => sum + matrix.rowCount, 0);
  const total = rated.reduce((sum, { matrix }) => sum + matrix.values.length, 0);
  if (rated.length === 1 && keep >= total) return rated[0]!.matrix;
  const { barBin, quota } = barOf(rated, Math.min(keep, total));
  const start = new Uint32Array(rowCount + 1);
  const columns = new Int32Array(Math.min(keep, total));
  const values = new Float32Array(columns.length);
  let [row, to, equalLeft] = [0, 0, quota];
  for (const { matrix, rowFactors } of rated) {
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

/** Where to cut: all weights of higher bins are kept, and of the bar's own the first `quota`. */
function barOf(rated: readonly RatedMatrix[], keep: number): { readonly barBin: number; readonly quota: number } {
  const counts = new Uint32Array(BINS);
  for (const { matrix, rowFactors } of rated) {
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

/** Bins as wide as a 4096th of their values: sorting all weights of a million rows would take as much memory again. */
const BINS = 2 ** 20;
const FLOAT = new Float32Array(1);
const BITS = new Uint32Array(FLOAT.buffer);

/** The upper bits of a float32 that is not negative ascend as it does. */
function binOf(size: number): number {
  FLOAT[0] = size;
  return BITS[0]! >>> 11;
}
