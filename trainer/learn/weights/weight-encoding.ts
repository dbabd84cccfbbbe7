import { denseBytes, type EncodedDense, encodeDense } from "./dense-encoding.ts";
import { type EncodedFactors, encodeFactors, factorBytes } from "./factor-encoding.ts";
import { type EncodedHops, encodeHops, hopBytes, keptUsers } from "./hop-weights.ts";
import { type EncodedSparse, encodeSparse, levelCount, ROW_MAX, sparseBytes } from "./sparse-encoding.ts";
import {
  type DenseWeights,
  denseWeights,
  longestRow,
  type SparseWeights,
  strongestWeights,
  type WeightMatrix,
} from "./weight-matrix.ts";
import { type PrunablePart, pruneWeights } from "./weight-pruning.ts";

/** A weight matrix, and how much the weights of each row count when some must be left out; absent: all rows alike. */
export type WeightPart = { readonly matrix: WeightMatrix; readonly rowFactors: Float32Array | undefined };

/** A weight matrix as its files hold it. All sparse matrices of a model are stacked into one, where each has a first row. */
export type EncodedMatrix =
  | EncodedDense
  | EncodedFactors
  | EncodedHops
  | { readonly kind: "stacked"; readonly firstRow: number };

/** With a scale, values are int8 codes: code c stands for c·scale. */
export type EncodedBias = { readonly values: Float32Array | Int8Array; readonly scale: number | undefined };

export type Encoding = {
  readonly matrices: readonly EncodedMatrix[];
  readonly stacked: EncodedSparse | undefined;
  readonly bias: EncodedBias | undefined;
  readonly truncation: string;
};

/** Whether weights stay float32, and the fraction that is kept of all sparse weights and of users, and of each factorisation's rank. */
type Plan = { readonly isExact: boolean; readonly fraction: number; readonly rankFraction: number };

const EXACT: Plan = { isExact: true, fraction: 1, rankFraction: 1 };
const CODED: Plan = { isExact: false, fraction: 1, rankFraction: 1 };
/** Factorisations beside two hops lose vectors before any user is left out. */
const fewerVectors = (steps: number): Plan => ({ ...CODED, rankFraction: steps / CUT_STEPS });
/** In such a plan all matrices but factorisations are sparse, and the bias is coded. */
const cut = (steps: number): Plan => ({
  isExact: false,
  fraction: steps / CUT_STEPS,
  rankFraction: steps / CUT_STEPS,
});
const cutBesideHops = (steps: number): Plan => ({
  ...cut(steps),
  rankFraction: (RANK_FRACTION_MIN * steps) / CUT_STEPS,
});
const CUT_STEPS = 1e6;
/** Vectors that stay beside two hops as long as all users do: 32 of 192. */
const RANK_FRACTION_MIN = 1 / 6;
/** Largest code of a bias. */
const CODE_MAX = 127;

/**
 * The weights within `bytesMax`, as exact as fits: float32, else 8-bit codes, else the codes of the weights that matter most
 * and an 8-bit bias. Codes are spaced by their square, because most weights are far smaller than the largest.
 */
export function encodeWithin(parts: readonly WeightPart[], bias: Float32Array | undefined, bytesMax: number): Encoding {
  const fits = (plan: Plan) => bytesUnder(parts, bias, plan) <= bytesMax;
  if (parts.length === 0 || fits(EXACT)) return encodeUnder(parts, bias, EXACT);
  if (fits(CODED)) return encodeUnder(parts, bias, CODED);
  const largestOf = (plan: (steps: number) => Plan) => plan(largest(CUT_STEPS - 1, (steps) => fits(plan(steps))));
  const hasHops = parts.some(({ matrix }) => matrix.kind === "hops");
  if (!hasHops) return encodeUnder(parts, bias, largestOf(cut));
  const allUsers = largestOf(fewerVectors);
  const isEnough = allUsers.rankFraction >= RANK_FRACTION_MIN;
  return encodeUnder(parts, bias, isEnough ? allUsers : largestOf(cutBesideHops));
}

/** Bytes when no weight is left out, in codes if these are smaller. */
export const codedBytes = (parts: readonly WeightPart[], bias: Float32Array | undefined): number =>
  Math.min(...(parts.length === 0 ? [EXACT] : [EXACT, CODED]).map((plan) => bytesUnder(parts, bias, plan)));

/** Bytes of the smallest encoding: no smaller budget can be met. */
export const leastBytes = (parts: readonly WeightPart[], bias: Float32Array | undefined): number =>
  Math.min(...(parts.length === 0 ? [EXACT] : [EXACT, CODED, cut(0)]).map((plan) => bytesUnder(parts, bias, plan)));

/** The largest integer from 0 to `max` that holds, where all smaller ones hold too; 0 if none does. */
function largest(max: number, holds: (count: number) => boolean): number {
  let [low, high] = [0, max];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (holds(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

const rankUnder = (rank: number, { rankFraction }: Plan) =>
  Math.max(Math.min(1, rank), Math.floor(rank * rankFraction));
const isBiasCoded = ({ fraction }: Plan) => fraction < 1;

function bytesUnder(parts: readonly WeightPart[], bias: Float32Array | undefined, plan: Plan): number {
  let bytes = (bias?.length ?? 0) * (isBiasCoded(plan) ? 1 : 4);
  for (const { matrix } of parts) {
    const { rowCount, columnCount } = matrix;
    if (matrix.kind === "factors") {
      bytes += factorBytes(matrix, rankUnder(matrix.right.rowCount, plan), plan.isExact);
    } else if (matrix.kind === "hops") bytes += hopBytes(matrix, plan.fraction);
    else if (!isStacked(matrix, plan)) bytes += denseBytes(rowCount, columnCount, plan.isExact);
  }
  const sparse = stackedUnder(parts, plan);
  const [first] = sparse;
  if (!first) return bytes;
  const rowCount = sparse.reduce((sum, { matrix }) => sum + matrix.rowCount, 0);
  const { columnCount } = first.matrix;
  return bytes + sparseBytes({ rowCount, columnCount }, keptCount(sparse, plan), plan.isExact);
}

type StackedPart = WeightPart & { readonly matrix: DenseWeights | SparseWeights };

const stackedUnder = (parts: readonly WeightPart[], plan: Plan) =>
  parts.filter((part): part is StackedPart => isStacked(part.matrix, plan));

/**
 * Whether a matrix is written in the sparse form. Whole matrices take the smaller form, and nearly full ones must not be
 * sparse: 500 history entries over 300 items take onnxruntime-web 46 ms then, and .7 ms if dense.
 */
function isStacked(matrix: WeightMatrix, plan: Plan): boolean {
  if (matrix.kind === "factors" || matrix.kind === "hops") return false;
  if (plan.fraction < 1) return true;
  if (matrix.kind === "dense") return false;
  const { rowCount, columnCount } = matrix;
  return sparseBytes(matrix, boundedCount(matrix), plan.isExact) < denseBytes(rowCount, columnCount, plan.isExact);
}

const keptCount = (sparse: readonly StackedPart[], { fraction }: Plan) =>
  Math.floor(fraction * sparse.reduce((sum, { matrix }) => sum + boundedCount(matrix), 0));

/** Weights of a matrix whose rows are cut at ROW_MAX. An upper bound for a dense matrix, which may have zeros. */
function boundedCount(matrix: DenseWeights | SparseWeights): number {
  if (matrix.kind === "dense") return matrix.rowCount * Math.min(ROW_MAX, matrix.columnCount);
  let count = 0;
  for (let row = 0; row < matrix.rowCount; row++) {
    count += Math.min(ROW_MAX, matrix.start[row + 1]! - matrix.start[row]!);
  }
  return count;
}

function encodeUnder(parts: readonly WeightPart[], bias: Float32Array | undefined, plan: Plan): Encoding {
  let rowsBefore = 0;
  const matrices = parts.map(({ matrix }): EncodedMatrix => {
    if (matrix.kind === "factors") return encodeFactors(matrix, rankUnder(matrix.right.rowCount, plan), plan.isExact);
    if (matrix.kind === "hops") return encodeHops(matrix, plan.fraction);
    if (!isStacked(matrix, plan)) return encodeDense(matrix.kind === "dense" ? matrix : filledIn(matrix), plan.isExact);
    const firstRow = rowsBefore;
    rowsBefore += matrix.rowCount;
    return { kind: "stacked", firstRow };
  });
  const sparse = stackedUnder(parts, plan);
  const bounds = sparse.map(({ matrix, rowFactors }): PrunablePart => ({ matrix: bounded(matrix), rowFactors }));
  const kept = bounds.length > 0 ? pruneWeights(bounds, keptCount(sparse, plan)) : undefined;
  const total = bounds.reduce((sum, { matrix }) => sum + matrix.values.length, 0);
  return {
    matrices,
    stacked: kept && encodeSparse(kept, plan.isExact),
    bias: bias && encodeBias(bias, isBiasCoded(plan)),
    truncation: truncationOf(parts, plan, { kept, total }),
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
  const levels = kept ? levelCount(kept.columnCount) : Number.POSITIVE_INFINITY;
  const isRowFull = kept !== undefined && longestRow(kept) === ROW_MAX;
  const isRowCut = isRowFull && stackedUnder(parts, plan).some(({ matrix }) => longestRow(matrix) > ROW_MAX);
  const hops = parts.flatMap(({ matrix }) => (matrix.kind === "hops" ? [matrix.users] : []));
  const userCount = hops.reduce((sum, { rowCount }) => sum + rowCount, 0);
  const keptCount = hops.reduce((sum, users) => sum + keptUsers(users, plan.fraction).length, 0);
  const formatted = (count: number) => count.toLocaleString("en-US");
  return [
    isRowCut ? `top ${ROW_MAX} weights of each row` : "",
    kept && kept.values.length < total
      ? `${formatted(kept.values.length)} of ${formatted(total)} weights, which matter most`
      : "",
    keptCount < userCount ? `${formatted(keptCount)} of ${formatted(userCount)} users` : "",
    rankUnder(rank, plan) < rank ? `rank ${rankUnder(rank, plan)} of ${rank}` : "",
    plan.isExact ? "" : levels < 256 ? `weights of ${levels} sizes` : "8-bit weights",
  ]
    .filter(Boolean)
    .join("; ");
}

function encodeBias(values: Float32Array, isCoded: boolean): EncodedBias {
  if (!isCoded) return { values, scale: undefined };
  const scale = values.reduce((most, value) => Math.max(most, Math.abs(value)), 0) / CODE_MAX;
  return { values: Int8Array.from(values, (value) => (scale > 0 ? Math.round(value / scale) : 0)), scale };
}

function filledIn({ rowCount, columnCount, start, columns, values }: SparseWeights): DenseWeights {
  const filled = new Float32Array(rowCount * columnCount);
  for (let row = 0; row < rowCount; row++) {
    for (let at = start[row]!; at < start[row + 1]!; at++) filled[row * columnCount + columns[at]!] = values[at]!;
  }
  return denseWeights(rowCount, columnCount, filled);
}
