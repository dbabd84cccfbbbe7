import { priorBuilder, withPrior } from "./attributes/attribute-prior.ts";
import { sourceAttributes } from "./attributes/source-attributes.ts";
import { type FittedLinear, fittedLinear } from "./linear/linear-export.ts";
import { localRidge } from "./linear/local-ridge.ts";
import { meanOf } from "./linear/ridge.ts";
import { type FitContext, type Method, reportProgress, type TrainingData } from "./model.ts";
import {
  attributesCost,
  countingSeconds,
  decaysOf,
  featureRidge,
  forEachFeature,
  learnedHistories,
  momentCount,
  type SequentialRidgeParams,
  sequentialGrid,
  termsOf,
} from "./sequential-ridge.ts";
import { timesChosen } from "./statistics/histories.ts";
import { sequentialStatistics } from "./statistics/sequential-statistics.ts";
import { largestColumns, rowRange, sparseBuilder } from "./weights/sparse-builder.ts";
import { addRow } from "./weights/weight-matrix.ts";

export type SequentialLocalRidgeParams = SequentialRidgeParams & {
  /** Largest number of features in one target's regression. */
  readonly neighbours: number;
  /** Largest entries of A that one feature keeps; absent: as many as the size of the catalog allows. */
  readonly kept?: number;
};

/** Largest entries of A that one feature keeps by default. Bounds the memory to about 1 GB. */
const rowMax = (itemCount: number) => Math.max(200, Math.min(2000, Math.floor(4e7 / itemCount)));
const SMALLER = { kept: 200, neighbours: 150 };

/**
 * Computes the sequential ridge (sequential-ridge.ts) with each target item regressed only on its neighbours (as fsSLIM, Ning and
 * Karypis 2011, does for EASE).
 * Wins: next item, for catalogs whose whole matrix does not fit. Cost: linear in items · neighbours · entries per row.
 */
export const sequentialLocalRidge: Method<SequentialLocalRidgeParams> = {
  name: "sequential_local_ridge",
  reads: "sequence",
  grid: (data) => sequentialGrid(data).map((params) => ({ ...params, neighbours: 300 })),
  smaller: (params) => (params.kept === undefined ? { ...params, ...SMALLER } : undefined),
  cost(data, params) {
    const { itemCount, items } = data;
    const { kept = rowMax(itemCount) } = params;
    const windows = decaysOf(params).length;
    const entries = Math.min(windows * itemCount * kept, momentCount(data, params));
    const solving = itemCount * (1e-5 + 4e-9 * params.neighbours * Math.min(kept, entries / itemCount));
    const attributes = attributesCost(data, params);
    const weights = itemCount * Math.min(params.neighbours, momentCount(data, params) / Math.max(1, itemCount));
    const bytes = 8 * entries + 16 * weights + 24 * items.length;
    return {
      seconds: 0.05 + solving + countingSeconds(data, params) + attributes.seconds,
      memoryMb: 60 + bytes / 1e6 + attributes.memoryMb,
      heldMb: 20 + (8 * weights) / 1e6,
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
  const statistics = sequentialStatistics(learnedHistories(data, params), decays, params.reversed);
  const { featureCount } = statistics;
  const attributes = params.attributes ? sourceAttributes(data, decays.length) : undefined;
  const builder = attributes && priorBuilder(attributes, itemCount);
  const { kept: keep = rowMax(itemCount) } = params;
  const lower = sparseBuilder(featureCount, featureCount);
  const counting = { itemCount, builder, needsTargets: false, context };
  const diagonal = await forEachFeature(statistics, counting, (feature, sources) => {
    const kept = largestColumns(sources, keep, (column) => (column > feature ? 0 : sources.values[column]!));
    for (const column of kept) if (column < feature) lower.add(column, sources.values[column]!);
    lower.endRow();
  });
  const mean = meanOf(diagonal.subarray(0, -1));
  const prior = await builder?.solve(featureRidge(attributes!.columnCount, params.attributes! * mean));
  const weights = await localRidge(
    {
      featureCount,
      targetCount: itemCount,
      lower: lower.build(),
      diagonal,
      ridge: featureRidge(featureCount, params.lambda * mean),
      addTarget: statistics.addSourcesOf,
      isNeighbour: () => true,
      neighbours: params.neighbours,
      ...(prior && { explain: prior.explain }),
    },
    (fraction) => reportProgress(context, 0.4 + 0.5 * fraction, "solving for each item"),
  );
  const whole = prior
    ? await withPrior(weights, { prior, keep: params.neighbours }, (fraction) =>
        reportProgress(context, 0.9 + 0.1 * fraction, "adding the weights from attributes"),
      )
    : weights;
  const terms = termsOf(decays, (decay) => rowRange(whole, decay * itemCount, (decay + 1) * itemCount));
  const bias = new Float32Array(itemCount);
  addRow(weights, featureCount - 1, 1, bias);
  prior?.addWeights(featureCount - 1, bias);
  return fittedLinear("sequential_local_ridge", params, { itemCount, terms, bias, uses: timesChosen(data) });
}
