import type { Interactions } from "../read/dataset/dataset.ts";
import { fittedLinear } from "./linear/linear-export.ts";
import { AS_SET, type LinearTerm, SET_HISTORY_MAX } from "./linear/linear-model.ts";
import { type FitContext, type Method, reportProgress } from "./model.ts";
import { openGemm } from "./numerics/linear-algebra/gemm.ts";
import { type LeadingEigen, leadingEigen } from "./numerics/linear-algebra/leading-eigen.ts";
import type { Matrix } from "./numerics/linear-algebra/matrix.ts";
import { type CoOccurrence, coOccurrence, forEachRow, pairsOf } from "./statistics/co-occurrence.ts";
import { applyNormalised } from "./statistics/graph-vectors.ts";
import { countItems, distinctItems, type Histories, positiveHistories, timesChosen } from "./statistics/histories.ts";
import type { RowSum } from "./weights/row-sum.ts";
import { largestColumns, sparseBuilder } from "./weights/sparse-builder.ts";
import { denseWeights, factorWeights, type SparseWeights, strongestWeights } from "./weights/weight-matrix.ts";

export type GraphFilterParams = {
  /** A user with n items has the weight n^(−2 · userExponent). */
  readonly userExponent: number;
  /** An item is divided by popularity^itemExponent. */
  readonly itemExponent: number;
  /** Weight α of the smooth part; the direct neighbours have 1. */
  readonly smooth: number;
  /** Number of singular vectors of the smooth part. */
  readonly rank: number;
  /** Weight of S² that is taken away from S = RᵀR / σ₁², so that what everybody chooses counts less; absent: 0. */
  readonly sharpen?: number;
};

/** Strongest normalised co-occurrences that one item keeps. */
const ROW_MAX = 2000;

/**
 * Computes GF-CF (Shen et al. 2021, "How powerful is graph convolution for recommendation?", eq. 12): with the normalised
 * interactions R = D_u^−a X D_i^−b, W = RᵀR / σ₁² + α · D_i^−b V_k V_kᵀ D_i^b, where V_k are the leading right singular vectors.
 * With `sharpen`, W = D_i^−b (S − sharpen · S² + α · V_k V_kᵀ), as in Turbo-CF (Park et al. 2024), with S² by its leading vectors.
 * Wins: as a part of a blend, and large sparse sets with `sharpen`. Cost: the co-occurrences plus `rank` times the entries.
 */
export const graphFilter: Method<GraphFilterParams> = {
  name: "graph_filter",
  grid: (data) => {
    const rank = rankFor(data);
    return [
      { userExponent: 0.4, itemExponent: 0.4, smooth: 1, rank },
      { userExponent: 0.3, itemExponent: 0.3, smooth: 0.3, rank, sharpen: 1 },
      { userExponent: 0.5, itemExponent: 0.5, smooth: 1, rank },
      { userExponent: 0.5, itemExponent: 0.4, smooth: 0.3, rank },
    ];
  },
  cost(data, { rank }) {
    const { itemCount, items } = data;
    const finding = isQuickerDense(data) ? 1e-10 * itemCount ** 2 * rank : 8e-8 * items.length * rank;
    return {
      seconds: 0.1 + 4e-9 * pairsOf(data, SET_HISTORY_MAX) + finding + 3e-5 * itemCount,
      memoryMb:
        100 +
        (8 * itemCount * Math.min(itemCount, ROW_MAX) + 16 * itemCount * rank + 32 * items.length) / 1e6 +
        (isQuickerDense(data) ? (4 * itemCount ** 2) / 1e6 : 0),
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

/** A rank that grows with the data, because the later vectors of small data are noise. */
const rankFor = ({ userCount, itemCount }: Interactions): number =>
  Math.max(16, Math.min(128, Math.round(Math.min(userCount, itemCount) / 32)));

async function graphFilterTerms(
  counts: CoOccurrence,
  { itemExponent, smooth, rank, sharpen = 0 }: GraphFilterParams,
  context: FitContext,
): Promise<LinearTerm[]> {
  const { histories } = counts;
  const popularity = countItems(histories);
  const divisor = popularity.map((count) => count ** itemExponent || 1);
  const normalised = isQuickerDense(histories) ? await denseNormalised(counts, divisor, context) : undefined;
  const gemm = openGemm();
  let eigen: LeadingEigen;
  try {
    eigen = await leadingEigen(
      async (vectors) => {
        await reportProgress(context, 0.4, "finding the smooth part");
        return normalised ? gemm.multiply({ a: normalised, b: vectors }) : applyNormalised(counts, divisor, vectors);
      },
      { size: histories.itemCount, count: Math.min(rank, histories.itemCount), random: context.random, gemm },
    );
  } finally {
    await gemm.close();
  }
  const largest = eigen.values[0] || 1;
  const neighbours = normalised
    ? strongestWeights(scaledWeights(normalised, 1 / largest), ROW_MAX)
    : await normalisedNeighbours(counts, divisor, { largest, context });
  eraseRows(eigen.vectors, (item) => popularity[item] === 0);
  const weightOf = (eigenvalue: number) => smooth - sharpen * (eigenvalue / largest) ** 2;
  if (sharpen > 0) scaleRows(neighbours, (row) => 1 / divisor[row]!);
  const vectors = factorsOf(eigen, weightOf, { from: divisor, to: sharpen > 0 ? divisor.map(() => 1) : divisor });
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

type NeighbourOptions = { readonly largest: number; readonly context: FitContext };

/** RᵀR / σ₁², the strongest entries of each row. */
async function normalisedNeighbours(
  counts: CoOccurrence,
  divisor: Float64Array,
  { largest, context }: NeighbourOptions,
): Promise<SparseWeights> {
  const { itemCount } = counts.histories;
  const builder = sparseBuilder(itemCount, itemCount);
  const addRow = (item: number, row: RowSum) => {
    const weightOf = (other: number) => row.values[other]! / (divisor[item]! * divisor[other]! * largest);
    for (const other of largestColumns(row, ROW_MAX, weightOf)) builder.add(other, weightOf(other));
    builder.endRow();
  };
  await forEachRow(counts, "whole", addRow, (fraction) =>
    reportProgress(context, 0.5 + 0.5 * fraction, "counting co-occurrences"),
  );
  return builder.build();
}

/**
 * Sets rows to zero. For items that nobody chose, eigenvectors hold only rounding errors, which a blend would scale up to the size
 * of other models' scores.
 */
function eraseRows({ rows, columns, values }: Matrix, isErased: (row: number) => boolean): void {
  for (let row = 0; row < rows; row++) if (isErased(row)) values.fill(0, row * columns, (row + 1) * columns);
}

/** Eigenvalues below this fraction of the largest are rounding errors, and their vectors are noise. */
const EIGENVALUE_FRACTION_MIN = 1e-5;

/** D_from^−1 V f(Λ) Vᵀ D_to as two factors, with Λ the eigenvalues. */
function factorsOf(
  { values: eigenvalues, vectors }: LeadingEigen,
  f: (eigenvalue: number) => number,
  { from, to }: { readonly from: Float64Array; readonly to: Float64Array },
) {
  const { rows, columns: rank, values } = vectors;
  const weights = eigenvalues.map((value) => (value > EIGENVALUE_FRACTION_MIN * eigenvalues[0]! ? f(value) : 0));
  const left = values.map((value, i) => (weights[i % rank]! * value) / from[Math.floor(i / rank)]!);
  const right = new Float32Array(rank * rows);
  for (let item = 0; item < rows; item++) {
    for (let k = 0; k < rank; k++) right[k * rows + item] = values[item * rank + k]! * to[item]!;
  }
  return factorWeights(rows, rank, { left, right });
}

function scaleRows({ rowCount, start, values }: SparseWeights, factorOf: (row: number) => number): void {
  for (let row = 0; row < rowCount; row++)
    for (let at = start[row]!; at < start[row + 1]!; at++) values[at]! *= factorOf(row);
}
