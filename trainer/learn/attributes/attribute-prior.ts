import { addDiagonal, factor, setLower, solve, symmetricTiles } from "../numerics/linear-algebra/cholesky.ts";
import { type Gemm, openGemm } from "../numerics/linear-algebra/gemm.ts";
import { transposed } from "../numerics/linear-algebra/matrix.ts";
import { addTo, clearRow, type RowSum, rowSum } from "../weights/row-sum.ts";
import { rowRange, sparseBuilder } from "../weights/sparse-builder.ts";
import { addRow, denseWeights, type SparseWeights, strongestWeights } from "../weights/weight-matrix.ts";

/**
 * The weights that attributes alone predict, P = S (SᵀAS + Λ)⁻¹ SᵀC, where row f of S holds the attributes of feature f. A ridge on
 * single items that is solved for the rest, C − A·P, shrinks towards P instead of 0, so that an item with few interactions borrows
 * from similar items (Lindley and Smith 1972).
 */
export type AttributePrior = {
  /** Subtracts from a target's entries of C at these features what P explains, A·P. */
  explain(target: number, features: Int32Array, entries: Float64Array): void;
  /** Entry (feature, target) of P. */
  weightOf(feature: number, target: number): number;
  /** Subtracts A·P from all entries of C, [featureCount, targetCount]. */
  explainAll(entries: Float32Array, gemm: Gemm): Promise<void>;
  /** False when row `feature` of P is zero, because the feature has no attributes. */
  hasWeights(feature: number): boolean;
  /** Adds row `feature` of P to `into` [targetCount]. */
  addWeights(feature: number, into: Float32Array): void;
};

export type PriorBuilder = {
  /** Adds a feature's whole rows of A and C, without the amount `own` of the target of the same index. Called for all features in order. */
  addFeature(feature: number, sources: RowSum, targets: RowSum, own?: number): void;
  /** @param ridge Float64Array(columns of S), above 0. */
  solve(ridge: Float64Array, gemm?: Gemm): Promise<AttributePrior>;
};

const ROWS_PER_BLOCK = 512;

/** @param attributes S, [featureCount, attributeCount], no negative entries. */
export function priorBuilder(attributes: SparseWeights, targetCount: number): PriorBuilder {
  const { rowCount: featureCount, columnCount: size } = attributes;
  const moments = sparseBuilder(featureCount, size); // A·S
  const gram = denseWeights(size, size, new Float32Array(size * size)); // Sᵀ·A·S
  const weights = denseWeights(size, targetCount, new Float32Array(size * targetCount)); // Sᵀ·C, replaced in place by the solution
  const row = rowSum(size);
  const addMoment = (feature: number, amount: number) => {
    for (let at = attributes.start[feature]!; at < attributes.start[feature + 1]!; at++)
      addTo(row, attributes.columns[at]!, amount * attributes.values[at]!);
  };
  return {
    addFeature(feature, sources, targets, own = 0) {
      for (let i = 0; i < sources.count; i++) addMoment(sources.touched[i]!, sources.values[sources.touched[i]!]!);
      for (let at = attributes.start[feature]!; at < attributes.start[feature + 1]!; at++) {
        const [column, value] = [attributes.columns[at]!, attributes.values[at]!];
        addSum(row, value, gram.values.subarray(column * size, (column + 1) * size));
        addSum(targets, value, weights.values.subarray(column * targetCount, (column + 1) * targetCount));
        if (own !== 0) weights.values[column * targetCount + feature]! -= value * own;
      }
      for (let i = 0; i < row.count; i++) moments.add(row.touched[i]!, row.values[row.touched[i]!]!);
      moments.endRow();
      clearRow(row);
    },
    async solve(ridge, gemm) {
      const tiles = symmetricTiles(size);
      for (let f = 0; f < size; f++) setLower(tiles, f, gram.values.subarray(f * size, (f + 1) * size));
      addDiagonal(tiles, (f) => ridge[f]!);
      const used = gemm ?? openGemm();
      try {
        await solve(await factor(tiles, used), { rows: size, columns: targetCount, values: weights.values }, used);
      } finally {
        if (!gemm) await used.close();
      }
      const byTarget = transposed(weights.values, targetCount);
      const known = moments.build();
      return {
        explain(target, features, entries) {
          const weightsOf = byTarget.subarray(target * size, (target + 1) * size);
          for (const [i, feature] of features.entries()) entries[i]! -= rowTimes(known, feature, weightsOf);
        },
        weightOf: (feature, target) =>
          rowTimes(attributes, feature, byTarget.subarray(target * size, (target + 1) * size)),
        async explainAll(entries, gemm) {
          for (let first = 0; first < featureCount; first += ROWS_PER_BLOCK) {
            const rows = Math.min(ROWS_PER_BLOCK, featureCount - first);
            const a = { rows, columns: size, values: new Float32Array(rows * size) };
            for (let row = 0; row < rows; row++)
              addRow(known, first + row, 1, a.values.subarray(row * size, (row + 1) * size));
            const values = entries.subarray(first * targetCount, (first + rows) * targetCount);
            const plus = { rows, columns: targetCount, values };
            const b = { rows: size, columns: targetCount, values: weights.values };
            values.set((await gemm.multiply({ a, b, alpha: -1, plus })).values);
          }
        },
        hasWeights: (feature) => attributes.start[feature + 1]! > attributes.start[feature]!,
        addWeights(feature, into) {
          for (let at = attributes.start[feature]!; at < attributes.start[feature + 1]!; at++)
            addRow(weights, attributes.columns[at]!, attributes.values[at]!, into);
        },
      };
    },
  };
}

function addSum(sum: RowSum, factor: number, into: Float32Array): void {
  for (let i = 0; i < sum.count; i++) into[sum.touched[i]!]! += factor * sum.values[sum.touched[i]!]!;
}

function rowTimes({ start, columns, values }: SparseWeights, row: number, vector: Float32Array): number {
  let sum = 0;
  for (let at = start[row]!; at < start[row + 1]!; at++) sum += values[at]! * vector[columns[at]!]!;
  return sum;
}

/** Adds the prior's weights. Each row then keeps its strongest entries: as many as it had, and at least `keep`. */
export async function withPrior(
  weights: SparseWeights,
  { prior, keep }: { readonly prior: AttributePrior; readonly keep: number },
  afterRows: (fraction: number) => Promise<void>,
): Promise<SparseWeights> {
  const { rowCount, columnCount } = weights;
  const builder = sparseBuilder(rowCount, columnCount);
  const sum = new Float32Array(columnCount);
  const strongest = (row: number) => {
    addRow(weights, row, 1, sum.fill(0));
    prior.addWeights(row, sum);
    const count = Math.max(keep, weights.start[row + 1]! - weights.start[row]!);
    return strongestWeights(denseWeights(1, columnCount, sum), count);
  };
  for (let row = 0; row < rowCount; row++) {
    const { columns, values } = prior.hasWeights(row) ? strongest(row) : rowRange(weights, row, row + 1);
    for (const [i, column] of columns.entries()) builder.add(column, values[i]!);
    builder.endRow();
    if (row % 256 === 0) await afterRows(row / rowCount);
  }
  return builder.build();
}
