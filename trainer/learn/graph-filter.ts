import { fittedLinear } from "./linear/linear-export.ts";
import { AS_SET, type LinearTerm, SET_HISTORY_MAX } from "./linear/linear-model.ts";
import { type FitContext, type Method, reportProgress } from "./model.ts";
import type { Matrix } from "./numerics/linear-algebra/matrix.ts";
import { type CoOccurrence, coOccurrence, forEachRow, pairsOf } from "./statistics/co-occurrence.ts";
import { divisors, graphEigen, graphFactors, graphVectorSeconds, rankFor } from "./statistics/graph-vectors.ts";
import { distinctItems, type Histories, positiveHistories, timesChosen } from "./statistics/histories.ts";
import type { RowSum } from "./weights/row-sum.ts";
import { largestColumns, sparseBuilder } from "./weights/sparse-builder.ts";
import { denseWeights, type SparseWeights, strongestWeights } from "./weights/weight-matrix.ts";

export type GraphFilterParams = {
  /** A user with n items has the weight n^(−2 · userExponent). */
  readonly userExponent: number;
  /** An item is divided by popularity^itemExponent. */
  readonly itemExponent: number;
  /** Weight α of the smooth part; the direct neighbours have 1. */
  readonly smooth: number;
  /** Number of singular vectors of the smooth part. */
  readonly rank: number;
  /** Strongest normalised co-occurrences that one item keeps; absent: ROW_MAX. */
  readonly kept?: number;
};

/** Bounds the memory on dense data. */
const ROW_MAX = 2000;
const SMALLER_ROW_MAX = 500;

/**
 * Computes GF-CF (Shen et al. 2021, "How powerful is graph convolution for recommendation?", eq. 12): with the normalised
 * interactions R = D_u^−a X D_i^−b, W = RᵀR / σ₁² + α · D_i^−b V_k V_kᵀ D_i^b, where V_k are the leading right singular vectors.
 * Wins: as a part of a blend. Cost: the co-occurrences plus `rank` times the entries.
 */
export const graphFilter: Method<GraphFilterParams> = {
  name: "graph_filter",
  grid: (data) => {
    const rank = rankFor(data);
    return [
      { userExponent: 0.4, itemExponent: 0.4, smooth: 1, rank },
      { userExponent: 0.5, itemExponent: 0.5, smooth: 1, rank },
      { userExponent: 0.5, itemExponent: 0.4, smooth: 0.3, rank },
    ];
  },
  smaller: (params) => (params.kept === undefined ? { ...params, kept: SMALLER_ROW_MAX } : undefined),
  cost(data, { rank, kept = ROW_MAX }) {
    const { itemCount, items } = data;
    const isDense = isQuickerDense(data);
    const finding = isDense ? 1.5e-9 * itemCount ** 2 * rank : graphVectorSeconds(data, rank);
    const pairs = pairsOf(data, SET_HISTORY_MAX);
    const neighbours = Math.min(itemCount * Math.min(itemCount, kept), pairs);
    const whole = isDense ? 4 * itemCount ** 2 : 0;
    return {
      seconds: 0.1 + 4e-9 * pairs + finding + 3e-5 * itemCount,
      memoryMb: 100 + (whole + 8 * neighbours + 16 * itemCount * rank + 24 * items.length) / 1e6,
      heldMb: 20 + (8 * neighbours + 8 * itemCount * rank) / 1e6,
    };
  },
  fit: async (data, params, context) => {
    const terms = await graphFilterTerms(
      coOccurrence(distinctItems(positiveHistories(data, SET_HISTORY_MAX)), 2 * params.userExponent),
      params,
      context,
    );
    return fittedLinear("graph_filter", params, { itemCount: data.itemCount, terms, uses: timesChosen(data) });
  },
};

async function graphFilterTerms(
  counts: CoOccurrence,
  { itemExponent, smooth, rank, kept = ROW_MAX }: GraphFilterParams,
  context: FitContext,
): Promise<LinearTerm[]> {
  const { histories } = counts;
  const divisor = divisors(counts, itemExponent);
  const normalised = isQuickerDense(histories) ? await denseNormalised(counts, divisor, context) : undefined;
  const eigen = await graphEigen(counts, { divisor, count: rank, context, normalised });
  const largest = eigen.values[0] || 1;
  const neighbours = normalised
    ? strongestWeights(scaledWeights(normalised, 1 / largest), kept)
    : await normalisedNeighbours(counts, divisor, { largest, kept, context });
  const vectors = graphFactors(eigen, () => smooth, { from: divisor, to: divisor });
  return [neighbours, vectors].map((matrix) => ({ weighting: AS_SET, matrix }));
}

/** Largest catalog whose co-occurrences are held as a dense matrix: 144 MB. */
const DENSE_ITEMS_MAX = 6000;
/** Number of multiplications in a dense product that take as long as one with scattered access. */
const DENSE_SPEED = 50;

const isQuickerDense = ({ itemCount, items }: Pick<Histories, "itemCount" | "items">) =>
  itemCount <= DENSE_ITEMS_MAX && itemCount ** 2 < 2 * DENSE_SPEED * items.length;

/** RᵀR as a dense matrix. [itemCount, itemCount] */
async function denseNormalised(counts: CoOccurrence, divisor: Float64Array, context: FitContext): Promise<Matrix> {
  const { itemCount } = counts.histories;
  const values = new Float32Array(itemCount * itemCount);
  const setRow = (item: number, row: RowSum) => {
    for (let i = 0; i < row.count; i++) {
      const other = row.touched[i]!;
      const value = row.values[other]! / (divisor[item]! * divisor[other]!);
      values[item * itemCount + other] = values[other * itemCount + item] = value;
    }
  };
  await forEachRow(counts, "lower", setRow, (fraction) =>
    reportProgress(context, 0.4 * fraction, "counting co-occurrences"),
  );
  return { rows: itemCount, columns: itemCount, values };
}

/** Scales the matrix in place and returns it as weights. */
function scaledWeights({ rows, columns, values }: Matrix, factor: number) {
  for (let i = 0; i < values.length; i++) values[i]! *= factor;
  return denseWeights(rows, columns, values);
}

type NeighbourOptions = { readonly largest: number; readonly kept: number; readonly context: FitContext };

/** RᵀR / σ₁², the strongest entries of each row. */
async function normalisedNeighbours(
  counts: CoOccurrence,
  divisor: Float64Array,
  { largest, kept, context }: NeighbourOptions,
): Promise<SparseWeights> {
  const { itemCount } = counts.histories;
  const builder = sparseBuilder(itemCount, itemCount);
  const addRow = (item: number, row: RowSum) => {
    const weightOf = (other: number) => row.values[other]! / (divisor[item]! * divisor[other]! * largest);
    for (const other of largestColumns(row, kept, weightOf)) builder.add(other, weightOf(other));
    builder.endRow();
  };
  await forEachRow(counts, "whole", addRow, (fraction) =>
    reportProgress(context, 0.5 + 0.5 * fraction, "counting co-occurrences"),
  );
  return builder.build();
}
