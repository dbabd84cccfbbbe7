import { type FitContext, reportProgress } from "../model.ts";
import { openGemm } from "../numerics/linear-algebra/gemm.ts";
import { leadingEigen } from "../numerics/linear-algebra/leading-eigen.ts";
import type { Matrix } from "../numerics/linear-algebra/matrix.ts";
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
  const divisor = countItems(counts.histories).map((count) => count ** EXPONENT || 1);
  const gemm = openGemm();
  try {
    const { values, vectors } = await leadingEigen(
      async (block) => {
        await reportProgress(context, 0, "finding first vectors");
        return applyNormalised(counts, divisor, block);
      },
      { size: itemCount, count: Math.min(width, itemCount), random: context.random, gemm },
    );
    const units = new Float32Array(itemCount * width);
    for (let item = 0; item < itemCount; item++) {
      const row = units.subarray(item * width, (item + 1) * width);
      for (let k = 0; k < vectors.columns; k++)
        row[k] = Math.sqrt(Math.max(0, values[k]!)) * vectors.values[item * vectors.columns + k]!;
      const length = Math.hypot(...row);
      for (let k = 0; k < width; k++) row[k] = length > LENGTH_MIN ? row[k]! / length : 0;
    }
    return units;
  } finally {
    await gemm.close();
  }
}

/** Shorter rows are rounding errors. */
const LENGTH_MIN = 1e-6;

/** RᵀR · vectors, computed user by user without forming RᵀR. */
export function applyNormalised({ histories, weights }: CoOccurrence, divisor: Float64Array, vectors: Matrix): Matrix {
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
