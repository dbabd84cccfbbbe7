import type { EaseParams } from "./ease.ts";
import { fittedLinear } from "./linear/linear-export.ts";
import { SET_HISTORY_MAX, setWeighting } from "./linear/linear-model.ts";
import { localRidge } from "./linear/local-ridge.ts";
import { ridgeOf } from "./linear/ridge.ts";
import { type Method, reportProgress, type TrainingData } from "./model.ts";
import { addCoOccurrences, coOccurrence, itemWeights, pairsOf } from "./statistics/co-occurrence.ts";
import { timesChosen } from "./statistics/histories.ts";
import { taughtSets, withRatings } from "./statistics/rated-histories.ts";
import { between, sparsity } from "./statistics/sparsity.ts";
import { clearRow, rowSum } from "./weights/row-sum.ts";
import { largestColumns, sparseBuilder } from "./weights/sparse-builder.ts";

export type LocalRidgeParams = EaseParams & {
  /** Items that one target's regression takes at most. */
  readonly neighbours: number;
};

/** The ridge that suits data of this density: where items are few times chosen, more of it, and for all items alike. */
export function firstGuess(data: TrainingData): LocalRidgeParams {
  const share = sparsity(data);
  const [lambda, penaltyExponent] = [between(3, 10, share), between(0.5, 0.25, share)];
  return { lambda, userExponent: 0.5, penaltyExponent, recentScale: 0, neighbours: 300 };
}

/** Co-occurrences that one item keeps, in the order of the cosine: bounds the memory on dense data. */
const ROW_MAX = 2000;

/** EASE for any catalog: each item is regressed on the items that it occurs with (as fsSLIM, Ning & Karypis 2011). */
export const localSetRidge: Method<LocalRidgeParams> = {
  name: "local_ridge",
  grid: (data) => {
    const first = firstGuess(data);
    const dense = { lambda: 3, userExponent: 0.5, penaltyExponent: 0.5, recentScale: 0, neighbours: 300 };
    const sparse = { ...dense, lambda: 10, userExponent: 0.25, penaltyExponent: 0.25 };
    return withRatings<LocalRidgeParams>(data, [
      first,
      { ...first, recentScale: 10 },
      ...(first.lambda === dense.lambda ? [sparse] : [sparse, dense]),
      { ...sparse, recentScale: 10 },
      { ...dense, lambda: 30, penaltyExponent: 0 },
    ]);
  },
  cost(data, params) {
    const { itemCount, items } = data;
    const pairs = pairsOf(data, SET_HISTORY_MAX);
    const met = Math.min(itemCount, pairs / Math.max(1, itemCount)); // items that an item occurs with
    const neighbours = Math.min(params.neighbours, met);
    const gathering = 4e-9 * neighbours * (Math.min(ROW_MAX, met) / 2);
    const solving = 1.6e-8 * neighbours ** 2 * Math.sqrt(met / Math.max(1, itemCount)); // neighbours occur together more often than others
    return {
      seconds: 0.01 + 8e-9 * pairs + itemCount * (3e-5 + gathering + solving),
      memoryMb: 50 + (itemCount * (8 * ROW_MAX + 16 * params.neighbours) + 24 * items.length) / 1e6,
    };
  },
  async fit(data, params, context) {
    const { itemCount } = data;
    const counts = coOccurrence(taughtSets(data, params, SET_HISTORY_MAX), params.userExponent);
    const diagonal = itemWeights(counts);
    const lower = sparseBuilder(itemCount, itemCount);
    const row = rowSum(itemCount);
    const cosine = (other: number) => row.values[other]! / Math.sqrt(diagonal[other]!);
    for (let item = 0; item < itemCount; item++) {
      addCoOccurrences(counts, item, row, "lower");
      for (const other of largestColumns(row, ROW_MAX, cosine)) if (other < item) lower.add(other, row.values[other]!);
      lower.endRow();
      clearRow(row);
      if (item % 256 === 0) await reportProgress(context, (0.3 * item) / itemCount, "counting co-occurrences");
    }
    const matrix = await localRidge(
      {
        featureCount: itemCount,
        targetCount: itemCount,
        lower: lower.build(),
        diagonal,
        ridge: ridgeOf(diagonal, params.lambda, params.penaltyExponent),
        addTarget: (target, into) => addCoOccurrences(counts, target, into, "whole"),
        isNeighbour: (feature, target) => feature !== target,
        neighbours: params.neighbours,
      },
      (share) => reportProgress(context, 0.3 + 0.7 * share, "solving for each item"),
    );
    return fittedLinear("local_ridge", params, {
      itemCount,
      terms: [{ weighting: setWeighting(params.recentScale), matrix }],
      bias: undefined,
      uses: timesChosen(data),
    });
  },
};
