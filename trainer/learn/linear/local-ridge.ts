import { dot } from "../numerics/linear-algebra/matrix.ts";
import { clearRow, type RowSum, rowSum } from "../weights/row-sum.ts";
import { largestColumns, sparseBuilder, transposed } from "../weights/sparse-builder.ts";
import type { SparseWeights } from "../weights/weight-matrix.ts";

/** Regressions of many targets, each on its own few features: (A_NN + Λ_N) w = C_N for the neighbours N of each target. */
export type LocalProblem = {
  readonly featureCount: number;
  readonly targetCount: number;
  /** Row f of the symmetric A: the columns below f, without the diagonal. Pruned entries count as 0. */
  readonly lower: SparseWeights;
  readonly diagonal: Float64Array; // [featureCount]
  readonly ridge: Float64Array; // [featureCount] Λ
  /** Adds the target's column of C to `into`. */
  addTarget(target: number, into: RowSum): void;
  /** True when a feature may be a neighbour of a target. An item must not explain itself. */
  isNeighbour(feature: number, target: number): boolean;
  /** Largest number of neighbours of a target. */
  readonly neighbours: number;
  /** Subtracts from a target's entries of C what a prior explains, so that the weights explain only the rest. */
  explain?(target: number, neighbours: Int32Array, entries: Float64Array): void;
};

const TARGETS_BETWEEN_REPORTS = 64;

/**
 * Solves the weights from features (rows) to targets (columns). A target's neighbours are the features with the largest
 * C_f / √A_ff. This is fsSLIM (Ning and Karypis 2011) without the L1 term; with all features as neighbours it is EASE (Steck 2019).
 * Each system is solved by conjugate gradients on its sparse matrix. The ridge keeps the system well conditioned, so that about a
 * dozen steps suffice, a hundredth of the operations of a Cholesky factorisation.
 */
export async function localRidge(
  problem: LocalProblem,
  afterTargets: (fraction: number) => Promise<void>,
): Promise<SparseWeights> {
  const { featureCount, targetCount, diagonal, neighbours } = problem;
  const byTarget = sparseBuilder(targetCount, featureCount);
  const sums = rowSum(featureCount);
  const system = localSystem(problem);
  for (let target = 0; target < targetCount; target++) {
    problem.addTarget(target, sums);
    const strength = (feature: number) =>
      problem.isNeighbour(feature, target) ? sums.values[feature]! / Math.sqrt(diagonal[feature]! || 1) : 0;
    const chosen = largestColumns(sums, neighbours, strength).filter((feature) => strength(feature) > 0);
    const entries = Float64Array.from(chosen, (feature) => sums.values[feature]!);
    problem.explain?.(target, chosen, entries);
    const weights = system.solve(chosen, entries);
    for (const [i, feature] of chosen.entries()) byTarget.add(feature, weights[i]!);
    byTarget.endRow();
    clearRow(sums);
    if (target % TARGETS_BETWEEN_REPORTS === 0) await afterTargets(target / targetCount);
  }
  return transposed(byTarget.build());
}

const STEPS_MAX = 30;
/** Residual relative to the right side, in the norm of the diagonal: far below what changes the order of scores. */
const RESIDUAL_MAX = 1e-3;

function localSystem({ featureCount, lower, diagonal, ridge, neighbours }: LocalProblem) {
  const localOf = new Int32Array(featureCount).fill(-1);
  const largest = Math.min(neighbours, featureCount);
  const pairs = (largest * (largest - 1)) / 2;
  const [rows, columns, values] = [new Int32Array(pairs), new Int32Array(pairs), new Float64Array(pairs)];
  let count = 0;

  /** Collects the entries of A among the chosen features, below the diagonal, with local row and column numbers. */
  function gather(chosen: Int32Array): void {
    count = 0;
    for (const [i, feature] of chosen.entries()) localOf[feature] = i;
    for (const [i, feature] of chosen.entries()) {
      for (let at = lower.start[feature]!; at < lower.start[feature + 1]!; at++) {
        const j = localOf[lower.columns[at]!]!;
        if (j < 0) continue;
        rows[count] = i;
        columns[count] = j;
        values[count++] = lower.values[at]!;
      }
    }
    for (const feature of chosen) localOf[feature] = -1;
  }

  /** Conjugate gradients, preconditioned by the diagonal (Golub and Van Loan 11.5.2). Overwrites `rest`, the right side. */
  function solve(chosen: Int32Array, rest: Float64Array): Float64Array {
    gather(chosen);
    const size = chosen.length;
    const ridged = Float64Array.from(chosen, (feature) => diagonal[feature]! + ridge[feature]!);
    const solution = new Float64Array(size);
    const scaled = rest.map((value, i) => value / ridged[i]!);
    const direction = scaled.slice();
    const image = new Float64Array(size);
    let energy = dot(rest, scaled);
    const enough = energy * RESIDUAL_MAX ** 2;
    for (let step = 0; step < STEPS_MAX && energy > enough; step++) {
      for (let i = 0; i < size; i++) image[i] = ridged[i]! * direction[i]!;
      for (let e = 0; e < count; e++) {
        image[rows[e]!]! += values[e]! * direction[columns[e]!]!;
        image[columns[e]!]! += values[e]! * direction[rows[e]!]!;
      }
      const curvature = dot(direction, image);
      if (!(curvature > 0)) break; // pruning can make A indefinite: keep the solution so far
      const length = energy / curvature;
      for (let i = 0; i < size; i++) {
        solution[i]! += length * direction[i]!;
        rest[i]! -= length * image[i]!;
        scaled[i] = rest[i]! / ridged[i]!;
      }
      const before = energy;
      energy = dot(rest, scaled);
      for (let i = 0; i < size; i++) direction[i] = scaled[i]! + (energy / before) * direction[i]!;
    }
    return solution;
  }
  return { solve };
}
