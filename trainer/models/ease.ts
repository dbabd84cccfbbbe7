import { openGemm } from "../linear-algebra/gemm.ts";
import { invertInPlace } from "../linear-algebra/inverse.ts";
import { checkpoint } from "./checkpoint.ts";
import { denseCoOccurrence, userWeights } from "./co-occurrence.ts";
import { distinctItems, positiveHistories } from "./histories.ts";
import { AS_SET, fittedLinear, SET_HISTORY_MAX } from "./linear-model.ts";
import type { FitContext, Method, TrainingData } from "./model.ts";
import { denseWeights } from "./weight-matrix.ts";

export type EaseParams = {
  /** Ridge, relative to the mean of the Gram matrix's diagonal. */
  readonly lambda: number;
  /** How much a long history counts less: its weight is length^−p. */
  readonly userExponent: number;
  /** How much the ridge grows with an item's popularity: as popularity^γ. */
  readonly penaltyExponent: number;
};

/** EASE (Steck 2019, "Embarrassingly shallow autoencoders for sparse data", eq. 8): item → item weights in closed form. */
export const ease: Method<EaseParams> = {
  name: "ease",
  grid: () => [
    { lambda: 3, userExponent: 0.5, penaltyExponent: 0.5 },
    { lambda: 1, userExponent: 0, penaltyExponent: 0 },
    { lambda: 4, userExponent: 0, penaltyExponent: 0 },
    { lambda: 10, userExponent: 0.5, penaltyExponent: 0.5 },
  ],
  cost: ({ itemCount, items, userCount }) => ({
    seconds: 2.5e-11 * itemCount ** 3 + 2e-9 * ((items.length / Math.max(1, userCount)) * items.length),
    memoryMb: 50 + (14 * itemCount ** 2 + 24 * items.length) / 1e6,
  }),
  fit: async (data, params, context) => {
    const matrix = denseWeights(data.itemCount, data.itemCount, await easeWeights(data, params, context));
    return fittedLinear("ease", params, {
      itemCount: data.itemCount,
      terms: [{ weighting: AS_SET, matrix }],
      bias: undefined,
    });
  },
};

/** Float32Array(itemCount²): row i holds what item i in a history adds to every item. The diagonal is 0. */
async function easeWeights(data: TrainingData, params: EaseParams, context: FitContext): Promise<Float32Array> {
  const size = data.itemCount;
  const histories = distinctItems(positiveHistories(data, SET_HISTORY_MAX));
  const gram = await denseCoOccurrence(histories, userWeights(histories, params.userExponent), (share) =>
    checkpoint(context, 0.4 * share, "counting co-occurrences"),
  );
  addRidge(gram, size, params);
  const gemm = openGemm();
  try {
    await invertInPlace({ rows: size, columns: size, values: gram }, gemm, (share) =>
      checkpoint(context, 0.4 + 0.6 * share, "inverting the co-occurrences"),
    );
  } finally {
    await gemm.close();
  }
  // W_ij = −P_ij / P_jj (eq. 8), in place.
  const diagonal = Float64Array.from({ length: size }, (_, j) => gram[j * size + j]!);
  for (let i = 0; i < size; i++) {
    for (let j = 0; j < size; j++) gram[i * size + j] = i === j ? 0 : -gram[i * size + j]! / diagonal[j]!;
  }
  return gram;
}

/** Adds λ·g_i^γ·mean(g)^(1−γ) to the diagonal, g being the diagonal; at least a trifle, so that unseen items do no harm. */
function addRidge(gram: Float32Array, size: number, { lambda, penaltyExponent }: EaseParams): void {
  let mean = 0;
  for (let i = 0; i < size; i++) mean += gram[i * size + i]! / size;
  mean ||= 1;
  for (let i = 0; i < size; i++) {
    const own = gram[i * size + i]!;
    const ridge = lambda * own ** penaltyExponent * mean ** (1 - penaltyExponent);
    gram[i * size + i] = own + Math.max(ridge, 1e-3 * mean);
  }
}
