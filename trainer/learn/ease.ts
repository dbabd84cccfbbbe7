import { fittedLinear } from "./linear/linear-export.ts";
import { SET_HISTORY_MAX, setWeighting } from "./linear/linear-model.ts";
import { ridgeOf } from "./linear/ridge.ts";
import { type FitContext, type Method, reportProgress, type TrainingData } from "./model.ts";
import { openGemm } from "./numerics/linear-algebra/gemm.ts";
import { invertInPlace } from "./numerics/linear-algebra/inverse.ts";
import { coOccurrence, forEachRow, itemWeights } from "./statistics/co-occurrence.ts";
import { timesChosen } from "./statistics/histories.ts";
import { learnedSets, type RatedParams, withRatings } from "./statistics/rated-histories.ts";
import type { RowSum } from "./weights/row-sum.ts";
import { denseWeights } from "./weights/weight-matrix.ts";

export type EaseParams = RatedParams & {
  /** Ridge, relative to the mean of the Gram matrix's diagonal. */
  readonly lambda: number;
  /** A history of n items has the weight n^−userExponent. */
  readonly userExponent: number;
  /** The ridge of an item grows as popularity^penaltyExponent. */
  readonly penaltyExponent: number;
  /** When scoring, a history entry has the weight e^(−position / recentScale); 0: all entries weigh 1. */
  readonly recentScale: number;
};

/**
 * Computes EASE (Steck 2019, "Embarrassingly shallow autoencoders for sparse data", eq. 8): P = (G + Λ)⁻¹, W_ij = −P_ij / P_jj,
 * with G the weighted co-occurrences. A constant feature beside the items learns popularity: the larger the ridge, the more of it.
 * Wins: sets, up to about 10,000 items. Cost: cubic in items, one inverse.
 */
export const ease: Method<EaseParams> = {
  name: "ease",
  grid: (data) =>
    withRatings<EaseParams>(data, [
      { lambda: 3, userExponent: 0.5, penaltyExponent: 0.5, recentScale: 0 },
      { lambda: 3, userExponent: 0.5, penaltyExponent: 0.5, recentScale: 10 },
      { lambda: 1, userExponent: 0.5, penaltyExponent: 0, recentScale: 0 },
      { lambda: 4, userExponent: 0, penaltyExponent: 0, recentScale: 0 },
      { lambda: 10, userExponent: 0.5, penaltyExponent: 0.5, recentScale: 0 },
      { lambda: 30, userExponent: 0, penaltyExponent: 0, recentScale: 10 },
    ]),
  cost: ({ itemCount, items, userCount }) => ({
    seconds: 0.05 + 2.5e-11 * itemCount ** 3 + 1e-9 * ((items.length / Math.max(1, userCount)) * items.length),
    memoryMb: 50 + (14 * itemCount ** 2 + 24 * items.length) / 1e6,
  }),
  fit: async (data, params, context) => {
    const { itemCount } = data;
    const { weights, bias } = await easeWeights(data, params, context);
    const terms = [
      { weighting: setWeighting(params.recentScale), matrix: denseWeights(itemCount, itemCount, weights) },
    ];
    return fittedLinear("ease", params, { itemCount, terms, bias, uses: timesChosen(data) });
  },
};

/** `weights` [itemCount²]: row i holds what item i of a history adds to the score of every item; the diagonal is 0. */
async function easeWeights(data: TrainingData, params: EaseParams, context: FitContext) {
  const size = data.itemCount + 1; // the constant is the last feature
  const gram = await gramWithConstant(data, params, context);
  const gemm = openGemm();
  try {
    await invertInPlace({ rows: size, columns: size, values: gram }, gemm, (fraction) =>
      reportProgress(context, 0.4 + 0.6 * fraction, "inverting the co-occurrences"),
    );
  } finally {
    await gemm.close();
  }
  // W_ij = −P_ij / P_jj (eq. 8). Rows move up in place by one column each: reads stay ahead of writes.
  const diagonal = Float64Array.from({ length: size }, (_, j) => gram[j * size + j]!);
  const bias = new Float32Array(data.itemCount);
  for (let j = 0; j < data.itemCount; j++) bias[j] = -gram[(size - 1) * size + j]! / diagonal[j]!;
  for (let i = 0; i < data.itemCount; i++) {
    for (let j = 0; j < data.itemCount; j++) {
      gram[i * data.itemCount + j] = i === j ? 0 : -gram[i * size + j]! / diagonal[j]!;
    }
  }
  return { weights: gram.subarray(0, data.itemCount ** 2), bias };
}

const CONSTANT_RIDGE = 1;

/** The Gram matrix of all items and the constant, with the ridge on its diagonal. [(itemCount + 1)²] */
async function gramWithConstant(data: TrainingData, params: EaseParams, context: FitContext): Promise<Float32Array> {
  const counts = coOccurrence(learnedSets(data, params, SET_HISTORY_MAX), params.userExponent);
  const size = data.itemCount + 1;
  const gram = new Float32Array(size * size);
  const popularity = itemWeights(counts);
  const columnOfConstant = itemWeights(counts, 1);
  const ridge = ridgeOf(popularity, params.lambda, params.penaltyExponent);
  const setRow = (item: number, row: RowSum) => {
    for (let other = 0; other < item; other++) {
      gram[item * size + other] = gram[other * size + item] = row.values[other]!;
    }
    gram[item * size + item] = popularity[item]! + ridge[item]!;
    gram[item * size + size - 1] = gram[(size - 1) * size + item] = columnOfConstant[item]!;
  };
  await forEachRow(counts, "lower", setRow, (fraction) =>
    reportProgress(context, 0.4 * fraction, "counting co-occurrences"),
  );
  const users = counts.weights.reduce((sum, weight) => sum + weight, 0);
  gram[size * size - 1] = users + CONSTANT_RIDGE;
  return gram;
}
