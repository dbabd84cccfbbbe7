import { checkpoint } from "./checkpoint.ts";
import { positiveHistories } from "./histories.ts";
import { type FittedLinear, fittedLinear } from "./linear-model.ts";
import { localRidge } from "./local-ridge.ts";
import type { FitContext, Method, TrainingData } from "./model.ts";
import { meanOf } from "./ridge.ts";
import { clearRow, rowSum } from "./row-sum.ts";
import { decaysOf, SEQUENCE_MAX, type SequentialRidgeParams, sequentialGrid } from "./sequential-ridge.ts";
import { type SequentialStatistics, sequentialStatistics } from "./sequential-statistics.ts";
import { largestColumns, rowRange, sparseBuilder } from "./sparse-builder.ts";

export type SequentialLocalRidgeParams = SequentialRidgeParams & {
  /** Features that one target's regression takes at most. */
  readonly neighbours: number;
};

/** Entries of A that one feature keeps: bounds the memory on dense data. */
const ROW_MAX = 2000;

/** The sequential ridge for catalogs whose full matrix is out of reach: each target is regressed on its neighbours. */
export const sequentialLocalRidge: Method<SequentialLocalRidgeParams> = {
  name: "sequential_local_ridge",
  grid: (data) => sequentialGrid(data).map((params) => ({ ...params, neighbours: 300 })),
  cost: ({ itemCount, items }) => ({
    seconds: 1e-3 * itemCount + 4e-7 * items.length,
    memoryMb: 100 + (24 * itemCount ** 2 + 24 * items.length) / 1e6,
  }),
  fit: fitLocally,
};

async function fitLocally(
  data: TrainingData,
  params: SequentialLocalRidgeParams,
  context: FitContext,
): Promise<FittedLinear> {
  const { itemCount } = data;
  const decays = decaysOf(params);
  const statistics = sequentialStatistics(positiveHistories(data, SEQUENCE_MAX), decays, params.reversed);
  const { featureCount } = statistics;
  const { lower, diagonal } = await prunedMoments(statistics, (share) =>
    checkpoint(context, 0.4 * share, "counting sequences"),
  );
  const mean = meanOf(diagonal.subarray(0, -1));
  const ridge = new Float64Array(featureCount).fill(params.lambda * mean);
  ridge[featureCount - 1] = 1;
  const weights = await localRidge(
    {
      featureCount,
      targetCount: itemCount,
      lower,
      diagonal,
      ridge,
      addTarget: statistics.addSourcesOf,
      isNeighbour: () => true,
      neighbours: params.neighbours,
    },
    (share) => checkpoint(context, 0.4 + 0.6 * share, "solving for each item"),
  );
  const terms = decays.map(({ scale, window }, decay) => ({
    weighting: { distinct: false, scale, halfLifeDays: Number.POSITIVE_INFINITY, window },
    matrix: rowRange(weights, decay * itemCount, (decay + 1) * itemCount),
  }));
  const bias = new Float32Array(itemCount);
  for (let at = weights.start[featureCount - 1]!; at < weights.start[featureCount]!; at++) {
    bias[weights.columns[at]!] = weights.values[at]!;
  }
  return fittedLinear("sequential_local_ridge", params, { itemCount, terms, bias });
}

async function prunedMoments(statistics: SequentialStatistics, afterRows: (share: number) => Promise<void>) {
  const { featureCount } = statistics;
  const diagonal = new Float64Array(featureCount);
  const lower = sparseBuilder(featureCount, featureCount);
  const sums = rowSum(featureCount);
  for (let feature = 0; feature < featureCount; feature++) {
    statistics.addSources(feature, sums, "lower");
    diagonal[feature] = sums.values[feature]!;
    const kept = largestColumns(sums, ROW_MAX, (column) => sums.values[column]!);
    for (const column of kept) if (column < feature) lower.add(column, sums.values[column]!);
    lower.endRow();
    clearRow(sums);
    if (feature % 256 === 0) await afterRows(feature / featureCount);
  }
  return { lower: lower.build(), diagonal };
}
