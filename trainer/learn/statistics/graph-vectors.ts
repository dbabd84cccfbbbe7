import type { Interactions } from "../../read/dataset/dataset.ts";
import { type FitContext, reportProgress } from "../model.ts";
import { openGemm } from "../numerics/linear-algebra/gemm.ts";
import { type LeadingEigen, leadingEigen } from "../numerics/linear-algebra/leading-eigen.ts";
import type { Matrix } from "../numerics/linear-algebra/matrix.ts";
import { type FactorWeights, factorWeights } from "../weights/weight-matrix.ts";
import { type CoOccurrence, coOccurrence } from "./co-occurrence.ts";
import { countItems, distinctItems, type Histories } from "./histories.ts";

/** A user with n items has the weight n^(−2 · .3), and an item is divided by popularity^.3. */
const EXPONENT = 0.3;

/**
 * A vector of each item from the graph of users and items: its row of V Λ^½, with Λ and V the leading eigenvalues and eigenvectors of
 * RᵀR, at unit length. Items that nobody chose have zeros. [itemCount * width]
 */
export async function graphVectors(histories: Histories, width: number, context: FitContext): Promise<Float32Array> {
  const counts = coOccurrence(distinctItems(histories), 2 * EXPONENT);
  const { itemCount } = histories;
  const { values, vectors } = await graphEigen(counts, { divisor: divisors(counts, EXPONENT), count: width, context });
  const units = new Float32Array(itemCount * width);
  for (let item = 0; item < itemCount; item++) {
    const row = units.subarray(item * width, (item + 1) * width);
    for (let k = 0; k < vectors.columns; k++)
      row[k] = Math.sqrt(Math.max(0, values[k]!)) * vectors.values[item * vectors.columns + k]!;
    const length = Math.hypot(...row);
    for (let k = 0; k < width; k++) row[k] = length > 0 ? row[k]! / length : 0;
  }
  return units;
}

/** Predicted seconds to find the vectors. Measured with 64 and 128 vectors of 12,000 to 37,000 items. */
export const graphVectorSeconds = ({ items, itemCount }: Interactions, width: number): number =>
  (1.2e-7 * items.length + 6e-7 * itemCount) * width;

/** A number of vectors that grows with the data, because the later vectors of small data are noise. */
export const rankFor = ({ userCount, itemCount }: Interactions): number =>
  Math.max(16, Math.min(128, Math.round(Math.min(userCount, itemCount) / 32)));

/** popularity^exponent of each item, by which its entries are divided; 1 for items that nobody chose. */
export const divisors = ({ histories }: CoOccurrence, exponent: number): Float64Array =>
  countItems(histories).map((count) => count ** exponent || 1);

export type EigenOptions = {
  readonly divisor: Float64Array; // [itemCount]
  readonly count: number;
  readonly context: FitContext;
  /** RᵀR, if it is held as a whole. */
  readonly normalised?: Matrix | undefined;
};

/**
 * The leading eigenvalues and eigenvectors of RᵀR, with zeros for items that nobody chose: these hold only rounding errors, which a
 * blend would scale up to the size of other models' scores.
 */
export async function graphEigen(
  counts: CoOccurrence,
  { divisor, count, context, normalised }: EigenOptions,
): Promise<LeadingEigen> {
  const { itemCount } = counts.histories;
  const gemm = openGemm();
  try {
    const eigen = await leadingEigen(
      async (vectors) => {
        await reportProgress(context, 0, "finding the vectors of the graph");
        return normalised ? gemm.multiply({ a: normalised, b: vectors }) : applyNormalised(counts, divisor, vectors);
      },
      { size: itemCount, count: Math.min(count, itemCount), random: context.random, gemm },
    );
    const { columns, values } = eigen.vectors;
    for (const [item, users] of countItems(counts.histories).entries())
      if (users === 0) values.fill(0, item * columns, (item + 1) * columns);
    return eigen;
  } finally {
    await gemm.close();
  }
}

/** Eigenvalues below this fraction of the largest are rounding errors, and their vectors are noise. */
const EIGENVALUE_FRACTION_MIN = 1e-5;

/** D_from^−1 V f(Λ / λ₁) Vᵀ D_to as two factors, with λ₁ the largest eigenvalue. */
export function graphFactors(
  { values: eigenvalues, vectors }: LeadingEigen,
  f: (eigenvalue: number) => number,
  { from, to }: { readonly from: Float64Array; readonly to?: Float64Array },
): FactorWeights {
  const { rows, columns: rank, values } = vectors;
  const relative = eigenvalues.map((value) => value / (eigenvalues[0] || 1));
  const weights = relative.map((value) => (value > EIGENVALUE_FRACTION_MIN ? f(value) : 0));
  const left = values.map((value, i) => value / from[Math.floor(i / rank)]!);
  const right = new Float32Array(rank * rows); // with f, because 8-bit codes have a scale for each of its rows
  for (let item = 0; item < rows; item++) {
    for (let k = 0; k < rank; k++) right[k * rows + item] = weights[k]! * values[item * rank + k]! * (to?.[item] ?? 1);
  }
  return factorWeights(rows, rank, { left, right });
}

/** RᵀR · vectors, computed user by user without forming RᵀR. */
function applyNormalised({ histories, weights }: CoOccurrence, divisor: Float64Array, vectors: Matrix): Matrix {
  const { userCount, start, items } = histories;
  const { rows, columns: width, values } = vectors;
  const image = new Float32Array(rows * width);
  const profile = new Float64Array(width);
  for (let user = 0; user < userCount; user++) {
    if (start[user] === start[user + 1]) continue;
    profile.fill(0);
    for (let at = start[user]!; at < start[user + 1]!; at++) {
      const factor = 1 / divisor[items[at]!]!;
      const offset = items[at]! * width;
      for (let k = 0; k < width; k++) profile[k]! += factor * values[offset + k]!;
    }
    for (let at = start[user]!; at < start[user + 1]!; at++) {
      const factor = weights[user]! / divisor[items[at]!]!;
      const offset = items[at]! * width;
      for (let k = 0; k < width; k++) image[offset + k]! += factor * profile[k]!;
    }
  }
  return { rows, columns: width, values: image };
}
