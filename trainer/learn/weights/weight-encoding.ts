import {
  type EncodedSparse,
  type EntryForm,
  encodeSparse,
  levelCount,
  ROW_MAX,
  sparseBytes,
} from "./sparse-encoding.ts";
import {
  type DenseWeights,
  denseWeights,
  longestRow,
  type SparseWeights,
  strongestWeights,
  type WeightMatrix,
} from "./weight-matrix.ts";
import { mostMattering, type RatedMatrix } from "./weight-pruning.ts";

/** A matrix to be written, and how much the weights of each of its rows count beside those of others, where some must go. */
export type WeightPart = { readonly matrix: WeightMatrix; readonly rowFactors: Float32Array | undefined };

/** A weight matrix as its files hold it. The sparse ones of a model stand one below the other in one matrix. */
export type EncodedMatrix = EncodedDense | EncodedFactors | { readonly kind: "stacked"; readonly firstRow: number };

/** With `rowScales`, values are int8 codes: code c of row r is c·|c|·rowScales[r]. */
export type EncodedDense = {
  readonly kind: "dense";
  readonly rowCount: number;
  readonly columnCount: number;
  readonly rowScales: Float32Array | undefined; // [rowCount]
  readonly valueType: "float32" | "int8";
  readonly values: Float32Array | Int8Array;
};
export type EncodedFactors = { readonly kind: "factors"; readonly left: EncodedDense; readonly right: EncodedDense };
/** With a scale, values are int8 codes: code c is c·scale. */
export type EncodedBias = { readonly values: Float32Array | Int8Array; readonly scale: number | undefined };

export type Encoding = {
  readonly matrices: readonly EncodedMatrix[];
  readonly stacked: EncodedSparse | undefined;
  readonly bias: EncodedBias | undefined;
  readonly truncation: string;
};

/** How much is kept: how exactly, and which share of the sparse weights and of the vectors of a factorisation. */
type Plan = { readonly form: EntryForm; readonly share: number };

const CODE_MAX = 127;
const SHARES = 1e6;

/**
 * The weights within `bytesMax`, losing as little as may be: exact, else int8 codes, else codes that hold a part of the
 * column too, else the weights that matter most, as such codes, and an int8 bias. Codes are spaced by their square, since
 * most weights are far smaller than the largest.
 */
export function encodeWithin(parts: readonly WeightPart[], bias: Float32Array | undefined, bytesMax: number): Encoding {
  const fits = (plan: Plan) => bytesUnder(parts, bias, plan) <= bytesMax;
  const fitting = parts.length === 0 ? WHOLE[0] : WHOLE.find(fits);
  if (fitting) return encodeUnder(parts, bias, fitting);
  return encodeUnder(parts, bias, cut(largest(SHARES - 1, (count) => fits(cut(count)))));
}

const WHOLE = (["exact", "coded", "packed"] as const).map((form): Plan => ({ form, share: 1 }));
const cut = (count: number): Plan => ({ form: "packed", share: count / SHARES });

/** Bytes of the smallest encoding: below that no budget is kept. */
export const leastBytes = (parts: readonly WeightPart[], bias: Float32Array | undefined): number =>
  Math.min(
    ...(parts.length === 0 ? WHOLE.slice(0, 1) : [...WHOLE, cut(0)]).map((plan) => bytesUnder(parts, bias, plan)),
  );

/** The largest integer up to `max` for which the condition, true for small ones, holds; 0 if for none. */
function largest(max: number, holds: (count: number) => boolean): number {
  let [low, high] = [0, max];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (holds(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

const bitsOf = ({ form }: Plan) => (form === "exact" ? 32 : 8);
const rankUnder = (rank: number, { share }: Plan) => Math.max(Math.min(1, rank), Math.floor(rank * share));
const isBiasCoded = ({ share }: Plan) => share < 1;

function bytesUnder(parts: readonly WeightPart[], bias: Float32Array | undefined, plan: Plan): number {
  let bytes = (bias?.length ?? 0) * (isBiasCoded(plan) ? 1 : 4);
  for (const { matrix } of parts) {
    if (matrix.kind === "factors") {
      const rank = rankUnder(matrix.right.rowCount, plan);
      const scales = bitsOf(plan) === 8 ? 4 * (matrix.rowCount + rank) : 0;
      bytes += (rank * (matrix.rowCount + matrix.columnCount) * bitsOf(plan)) / 8 + scales;
    } else if (isDenseUnder(matrix, plan)) bytes += denseBytes(matrix, plan);
  }
  const sparse = sparseUnder(parts, plan);
  const [first] = sparse;
  if (!first) return bytes;
  const rowCount = sparse.reduce((sum, { matrix }) => sum + matrix.rowCount, 0);
  const { columnCount } = first.matrix;
  return bytes + sparseBytes({ rowCount, columnCount }, keptCount(sparse, plan), plan.form);
}

type SparsePart = WeightPart & { readonly matrix: DenseWeights | SparseWeights };

const sparseUnder = (parts: readonly WeightPart[], plan: Plan): SparsePart[] =>
  parts.filter((part): part is SparsePart => part.matrix.kind !== "factors" && !isDenseUnder(part.matrix, plan));

/** A dense matrix stays dense as long as it fits: leaving out weights would save bytes and lose them. */
function isDenseUnder(matrix: DenseWeights | SparseWeights, plan: Plan): boolean {
  if (plan.share < 1) return false;
  const asSparse = sparseBytes(matrix, boundedCount(matrix), plan.form);
  return denseBytes(matrix, plan) <= asSparse || (matrix.kind === "dense" && matrix.columnCount > ROW_MAX);
}

const denseBytes = (matrix: WeightMatrix, plan: Plan) =>
  (matrix.rowCount * matrix.columnCount * bitsOf(plan)) / 8 + (bitsOf(plan) === 8 ? 4 * matrix.rowCount : 0);

const keptCount = (sparse: readonly SparsePart[], { share }: Plan) =>
  Math.floor(share * sparse.reduce((sum, { matrix }) => sum + boundedCount(matrix), 0));

/** Weights of rows that are no longer than allowed. At most so many; exactly so many when no weight of a dense matrix is 0. */
function boundedCount(matrix: DenseWeights | SparseWeights): number {
  if (matrix.kind === "dense") return matrix.rowCount * Math.min(ROW_MAX, matrix.columnCount);
  let count = 0;
  for (let row = 0; row < matrix.rowCount; row++) {
    count += Math.min(ROW_MAX, matrix.start[row + 1]! - matrix.start[row]!);
  }
  return count;
}

function encodeUnder(parts: readonly WeightPart[], bias: Float32Array | undefined, plan: Plan): Encoding {
  const sparse = sparseUnder(parts, plan);
  let firstRow = 0;
  const matrices = parts.map((part): EncodedMatrix => {
    const { matrix } = part;
    if (matrix.kind === "factors") {
      const rank = rankUnder(matrix.right.rowCount, plan);
      return {
        kind: "factors",
        left: encodeDense(firstColumns(matrix.left, rank), plan),
        right: encodeDense(firstRows(matrix.right, rank), plan),
      };
    }
    if (!sparse.includes(part as SparsePart)) return encodeDense(matrix, plan);
    firstRow += matrix.rowCount;
    return { kind: "stacked", firstRow: firstRow - matrix.rowCount };
  });
  const rated = sparse.map(({ matrix, rowFactors }): RatedMatrix => ({ matrix: bounded(matrix), rowFactors }));
  const kept = rated.length > 0 ? mostMattering(rated, keptCount(sparse, plan)) : undefined;
  return {
    matrices,
    stacked: kept && encodeSparse(kept, plan.form),
    bias: bias && encodeBias(bias, isBiasCoded(plan)),
    truncation: truncationOf(parts, plan, {
      total: rated.reduce((sum, { matrix }) => sum + matrix.values.length, 0),
      kept,
    }),
  };
}

const bounded = (matrix: DenseWeights | SparseWeights): SparseWeights =>
  matrix.kind === "sparse" && longestRow(matrix) <= ROW_MAX ? matrix : strongestWeights(matrix, ROW_MAX);

function truncationOf(
  parts: readonly WeightPart[],
  plan: Plan,
  { kept, total }: { readonly kept: SparseWeights | undefined; readonly total: number },
): string {
  const ranks = parts.flatMap(({ matrix }) => (matrix.kind === "factors" ? [matrix.right.rowCount] : []));
  const rank = Math.max(0, ...ranks);
  const levels = kept ? levelCount(kept.columnCount, plan.form) : Number.POSITIVE_INFINITY;
  const isRowFull = kept !== undefined && longestRow(kept) === ROW_MAX;
  const isRowCut = isRowFull && sparseUnder(parts, plan).some(({ matrix }) => longestRow(matrix) > ROW_MAX);
  const count = (of: number) => of.toLocaleString("en-US");
  return [
    isRowCut ? `top ${ROW_MAX} weights of each row` : "",
    kept && kept.values.length < total
      ? `${count(kept.values.length)} of ${count(total)} weights, which matter most`
      : "",
    rankUnder(rank, plan) < rank ? `rank ${rankUnder(rank, plan)} of ${rank}` : "",
    plan.form === "exact" ? "" : levels < 256 ? `weights of ${levels} sizes` : "8-bit weights",
  ]
    .filter(Boolean)
    .join("; ");
}

function encodeBias(values: Float32Array, isCoded: boolean): EncodedBias {
  if (!isCoded) return { values, scale: undefined };
  const scale = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0) / CODE_MAX;
  return { values: Int8Array.from(values, (value) => (scale > 0 ? Math.round(value / scale) : 0)), scale };
}

function firstRows(matrix: DenseWeights, count: number): DenseWeights {
  return denseWeights(count, matrix.columnCount, matrix.values.subarray(0, count * matrix.columnCount));
}

function firstColumns({ rowCount, columnCount, values }: DenseWeights, count: number): DenseWeights {
  if (count === columnCount) return denseWeights(rowCount, count, values);
  const kept = new Float32Array(rowCount * count);
  for (let row = 0; row < rowCount; row++) {
    kept.set(values.subarray(row * columnCount, row * columnCount + count), row * count);
  }
  return denseWeights(rowCount, count, kept);
}

function encodeDense(matrix: DenseWeights | SparseWeights, plan: Plan): EncodedDense {
  const { rowCount, columnCount } = matrix;
  const values = matrix.kind === "dense" ? matrix.values : scattered(matrix);
  const start = Uint32Array.from({ length: rowCount + 1 }, (_, row) => row * columnCount);
  return { kind: "dense", rowCount, columnCount, ...encodeValues(values, start, bitsOf(plan)) };
}

function scattered(matrix: SparseWeights): Float32Array {
  const values = new Float32Array(matrix.rowCount * matrix.columnCount);
  for (let row = 0; row < matrix.rowCount; row++) {
    for (let at = matrix.start[row]!; at < matrix.start[row + 1]!; at++) {
      values[row * matrix.columnCount + matrix.columns[at]!] = matrix.values[at]!;
    }
  }
  return values;
}

function encodeValues(values: Float32Array, start: Uint32Array, bits: 8 | 32) {
  if (bits === 32) return { rowScales: undefined, valueType: "float32", values } as const;
  const rowScales = new Float32Array(start.length - 1);
  const codes = new Int8Array(values.length);
  for (let row = 0; row < rowScales.length; row++) {
    let peak = 0;
    for (let at = start[row]!; at < start[row + 1]!; at++) peak = Math.max(peak, Math.abs(values[at]!));
    rowScales[row] = peak / CODE_MAX ** 2;
    for (let at = start[row]!; at < start[row + 1]!; at++) {
      const size = peak === 0 ? 0 : Math.round(CODE_MAX * Math.sqrt(Math.abs(values[at]!) / peak));
      codes[at] = values[at]! < 0 ? -size : size;
    }
  }
  return { rowScales, valueType: "int8", values: codes } as const;
}
