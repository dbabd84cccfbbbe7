import { fittedLinear } from "./linear/linear-export.ts";
import { AS_SET, SET_HISTORY_MAX } from "./linear/linear-model.ts";
import { type Method, reportProgress } from "./model.ts";
import { coOccurrence, forEachRow, itemWeights } from "./statistics/co-occurrence.ts";
import { between, distinctItems, positiveHistories, sparsity, timesChosen } from "./statistics/histories.ts";
import type { RowSum } from "./weights/row-sum.ts";
import { largestColumns, sparseBuilder, transposed } from "./weights/sparse-builder.ts";

export type ItemKnnParams = {
  /** A user with n items has the weight n^−userExponent. */
  readonly userExponent: number;
  /** a: a history item of popularity d is divided by d^a. */
  readonly sourceExponent: number;
  /** b: a scored item of popularity d is divided by d^b. Both exponents 0.5 give the cosine. */
  readonly targetExponent: number;
  /** Strongest history items that each scored item keeps. */
  readonly neighbours: number;
};

/**
 * Computes item-kNN (Deshpande and Karypis 2004): W_ij = G_ij · d_i^−a · d_j^−b with the co-occurrences G and popularities d; each
 * target j keeps its strongest sources i.
 * Wins: when there are only seconds, at any size. Cost: one pass over the co-occurring pairs.
 */
export const itemKnn: Method<ItemKnnParams> = {
  name: "item_knn",
  grid: (data) => [
    { userExponent: 0.5, sourceExponent: 0.5, targetExponent: between(0.5, 0.1, sparsity(data)), neighbours: 200 },
    { userExponent: 0.5, sourceExponent: 0.4, targetExponent: 0.2, neighbours: 200 },
    { userExponent: 0, sourceExponent: 0.8, targetExponent: 0.2, neighbours: 200 },
  ],
  cost({ itemCount, items, userCount }, { neighbours }) {
    const counted = (items.length / Math.max(1, userCount)) * items.length;
    const choosing = 3e-8 * Math.min(counted, itemCount ** 2); // selecting among the items that co-occur with each item
    return {
      seconds: 0.01 + 3e-9 * counted + choosing + 2e-5 * itemCount,
      memoryMb: 50 + (16 * itemCount * neighbours + 24 * items.length) / 1e6,
    };
  },
  async fit(data, params, context) {
    const { itemCount } = data;
    const { sourceExponent, targetExponent, neighbours } = params;
    const counts = coOccurrence(distinctItems(positiveHistories(data, SET_HISTORY_MAX)), params.userExponent);
    const popularity = itemWeights(counts);
    const sourceFactor = popularity.map((count) => count ** -sourceExponent);
    const byTarget = sparseBuilder(itemCount, itemCount);
    const addTarget = (target: number, row: RowSum) => {
      const targetFactor = popularity[target]! ** -targetExponent;
      const weightOf = (source: number) =>
        source === target ? 0 : row.values[source]! * sourceFactor[source]! * targetFactor;
      for (const source of largestColumns(row, neighbours, weightOf)) byTarget.add(source, weightOf(source));
      byTarget.endRow();
    };
    await forEachRow(counts, "whole", addTarget, (fraction) =>
      reportProgress(context, fraction, "counting co-occurrences"),
    );
    const terms = [{ weighting: AS_SET, matrix: transposed(byTarget.build()) }];
    return fittedLinear("item_knn", params, { itemCount, terms, uses: timesChosen(data) });
  },
};
