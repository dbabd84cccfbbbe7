import { fittedLinear } from "./linear/linear-export.ts";
import { AS_SET, SET_HISTORY_MAX } from "./linear/linear-model.ts";
import { type Method, reportProgress } from "./model.ts";
import { addCoOccurrences, coOccurrence, itemWeights } from "./statistics/co-occurrence.ts";
import { distinctItems, positiveHistories, timesChosen } from "./statistics/histories.ts";
import { between, sparsity } from "./statistics/sparsity.ts";
import { clearRow, rowSum } from "./weights/row-sum.ts";
import { largestColumns, sparseBuilder, transposed } from "./weights/sparse-builder.ts";

export type ItemKnnParams = {
  /** A user of n items weighs n^−userExponent. */
  readonly userExponent: number;
  /** How much a popular item in the history counts less. */
  readonly sourceExponent: number;
  /** How much a popular item is scored less; 0.5 for both is the cosine. */
  readonly targetExponent: number;
  /** Neighbours of each scored item. */
  readonly neighbours: number;
};

/** Item-kNN (Deshpande & Karypis 2004): W_ij = G_ij · d_i^−a · d_j^−b, the strongest sources of each target kept. */
export const itemKnn: Method<ItemKnnParams> = {
  name: "item_knn",
  grid: (data) => [
    { userExponent: 0.5, sourceExponent: 0.5, targetExponent: between(0.5, 0.1, sparsity(data)), neighbours: 200 },
    { userExponent: 0.5, sourceExponent: 0.4, targetExponent: 0.2, neighbours: 200 },
    { userExponent: 0, sourceExponent: 0.8, targetExponent: 0.2, neighbours: 200 },
  ],
  cost({ itemCount, items, userCount }, { neighbours }) {
    const counted = (items.length / Math.max(1, userCount)) * items.length;
    const choosing = 3e-8 * Math.min(counted, itemCount ** 2); // among the items that each item was chosen with
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
    const sourceFactor = popularity.map((own) => own ** -sourceExponent);
    const byTarget = sparseBuilder(itemCount, itemCount);
    const row = rowSum(itemCount);
    for (let target = 0; target < itemCount; target++) {
      addCoOccurrences(counts, target, row, "whole");
      const targetFactor = popularity[target]! ** -targetExponent;
      const weightOf = (source: number) =>
        source === target ? 0 : row.values[source]! * sourceFactor[source]! * targetFactor;
      for (const source of largestColumns(row, neighbours, weightOf)) byTarget.add(source, weightOf(source));
      byTarget.endRow();
      clearRow(row);
      if (target % 256 === 0) await reportProgress(context, target / itemCount, "counting co-occurrences");
    }
    const terms = [{ weighting: AS_SET, matrix: transposed(byTarget.build()) }];
    return fittedLinear("item_knn", params, { itemCount, terms, bias: undefined, uses: timesChosen(data) });
  },
};
