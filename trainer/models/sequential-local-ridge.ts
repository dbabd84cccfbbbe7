import { checkpoint } from "./checkpoint.ts";
import { type FittedLinear, fittedLinear } from "./linear/fitted-linear.ts";
import { localRidge } from "./linear/local-ridge.ts";
import { meanOf } from "./linear/ridge.ts";
import type { FitContext, Method, TrainingData } from "./model.ts";
import {
  countingSeconds,
  decaysOf,
  type SequentialRidgeParams,
  sequentialGrid,
  taughtHistories,
} from "./sequential-ridge.ts";
import { timesChosen } from "./statistics/histories.ts";
import { type SequentialStatistics, sequentialStatistics } from "./statistics/sequential-statistics.ts";
import { clearRow, rowSum } from "./weights/row-sum.ts";
import { largestColumns, rowRange, sparseBuilder } from "./weights/sparse-builder.ts";

export type SequentialLocalRidgeParams = SequentialRidgeParams & {
  /** Features that one target's regression takes at most. */
  readonly neighbours: number;
};

/** Entries of A that one feature keeps, the largest: bounds the memory, some 1.3 GB at worst. */
const rowMax = (itemCount: number) => Math.max(200, Math.min(2000, Math.floor(4e7 / itemCount)));

/** The sequential ridge for catalogs whose full matrix is out of reach: each target is regressed on its neighbours. */
export const sequentialLocalRidge: Method<SequentialLocalRidgeParams> = {
  name: "sequential_local_ridge",
  grid: (data) => sequentialGrid(data).map((params) => ({ ...params, neighbours: 300 })),
  cost(data, params) {
    const { itemCount, items, userCount } = data;
    const looks = decaysOf(params).length;
    const met = looks * Math.min(params.longWindow, items.length / Math.max(1, userCount));
    const entries = Math.min(looks * itemCount * rowMax(itemCount), looks * met * items.length);
    const solving = itemCount * (1e-5 + 4e-9 * params.neighbours * Math.min(rowMax(itemCount), entries / itemCount));
    return {
      seconds: 0.05 + solving + countingSeconds(data, params),
      memoryMb: 100 + (16 * entries + 24 * itemCount * params.neighbours + 40 * items.length) / 1e6,
    };
  },
  fit: fitLocally,
};

async function fitLocally(
  data: TrainingData,
  params: SequentialLocalRidgeParams,
  context: FitContext,
): Promise<FittedLinear> {
  const { itemCount } = data;
  const decays = decaysOf(params);
  const statistics = sequentialStatistics(taughtHistories(data, params), decays, params.reversed);
  const { featureCount } = statistics;
  const { lower, diagonal } = await prunedMoments(statistics, rowMax(itemCount), (share) =>
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
  return fittedLinear("sequential_local_ridge", params, { itemCount, terms, bias, uses: timesChosen(data) });
}

async function prunedMoments(
  statistics: SequentialStatistics,
  keep: number,
  afterRows: (share: number) => Promise<void>,
) {
  const { featureCount } = statistics;
  const diagonal = new Float64Array(featureCount);
  const lower = sparseBuilder(featureCount, featureCount);
  const sums = rowSum(featureCount);
  for (let feature = 0; feature < featureCount; feature++) {
    statistics.addSources(feature, sums, "lower");
    diagonal[feature] = sums.values[feature]!;
    const kept = largestColumns(sums, keep, (column) => sums.values[column]!);
    for (const column of kept) if (column < feature) lower.add(column, sums.values[column]!);
    lower.endRow();
    clearRow(sums);
    if (feature % 256 === 0) await afterRows(feature / featureCount);
  }
  return { lower: lower.build(), diagonal };
}
