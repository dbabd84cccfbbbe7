import { type AttributePrior, priorBuilder, withPrior } from "./attributes/attribute-prior.ts";
import {
  attributesSetting,
  itemAttributeRows,
  type Settings,
  sourceAttributesCost,
  withAttributes,
} from "./attributes/source-attributes.ts";
import { fittedLinear } from "./linear/linear-export.ts";
import { SET_HISTORY_MAX, setWeighting } from "./linear/linear-model.ts";
import { localRidge } from "./linear/local-ridge.ts";
import { meanOf, ridgeOf } from "./linear/ridge.ts";
import { type Method, reportProgress, type TrainingData } from "./model.ts";
import { addCoOccurrences, coOccurrence, forEachRow, itemWeights, pairsOf } from "./statistics/co-occurrence.ts";
import { between, halfLives, isVerySparse, sparsity, timesChosen } from "./statistics/histories.ts";
import { learnedSets, type ValueParams, withValues } from "./statistics/valued-histories.ts";
import type { RowSum } from "./weights/row-sum.ts";
import { largestColumns, sparseBuilder } from "./weights/sparse-builder.ts";

export type LocalRidgeParams = ValueParams & {
  /** Ridge, relative to the mean of the Gram matrix's diagonal. */
  readonly lambda: number;
  /** A history of n items has the weight n^−userExponent. */
  readonly userExponent: number;
  /** The ridge of an item grows as popularity^penaltyExponent. */
  readonly penaltyExponent: number;
  /** When scoring, a history entry has the weight e^(−position / recentScale); 0: all entries weigh 1. */
  readonly recentScale: number;
  /** When scoring, an entry of this age weighs half; absent: times do not matter. */
  readonly halfLifeDays?: number;
  /** Largest number of items in one target's regression. */
  readonly neighbours: number;
  /** Co-occurrences that one item keeps, largest cosine first; absent: ROW_MAX. */
  readonly kept?: number;
  /** Ridge on item attributes, relative as `lambda` is; absent or 0: attributes are not used. */
  readonly attributes?: number;
};

const FOR_DENSE = { lambda: 3, userExponent: 0.5, penaltyExponent: 0.5, recentScale: 0, neighbours: 300 };
const FOR_VERY_SPARSE = { ...FOR_DENSE, lambda: 30, penaltyExponent: 0 };

/** Two guesses for data of this density, the best first: sparse data need a larger ridge, and one that depends less on popularity. */
function guesses(data: TrainingData): readonly [LocalRidgeParams, LocalRidgeParams] {
  const position = sparsity(data);
  const byDensity = { ...FOR_DENSE, lambda: between(3, 10, position), penaltyExponent: between(0.5, 0.25, position) };
  return isVerySparse(data) ? [FOR_VERY_SPARSE, byDensity] : [byDensity, FOR_VERY_SPARSE];
}

/** From this number of interactions per item on, attributes do not help: they did with 15 (Amazon Beauty), not with 48 (ml-100k). */
const DENSE_FROM = 30;
/** Bounds the memory on dense data. */
const ROW_MAX = 2000;
const SMALLER = { kept: 500, neighbours: 150 };

/**
 * Computes EASE (Steck 2019, "Embarrassingly shallow autoencoders for sparse data") with each target item regressed only on the
 * items that it co-occurs with most (as fsSLIM, Ning and Karypis 2011): (G_NN + Λ_N) w = G_Nj for the neighbours N of each target j.
 * Wins: sets, any catalog; better than the exact inverse on dense sets too. Cost: linear in items · neighbours².
 */
export const localSetRidge: Method<LocalRidgeParams> = {
  name: "local_ridge",
  grid: (data) => {
    const [first, last] = guesses(data);
    const sparse = { ...FOR_DENSE, lambda: 10, userExponent: 0.25, penaltyExponent: 0.25 };
    const settings: Settings<LocalRidgeParams> = [
      first,
      { ...first, recentScale: 10 },
      ...halfLives(data).map((halfLifeDays) => ({ ...first, halfLifeDays })),
      ...(first.lambda === FOR_DENSE.lambda ? [sparse] : [sparse, FOR_DENSE]),
      { ...sparse, recentScale: 10 },
      last,
    ];
    return withValues(data, withAttributes(settings, attributesSetting(data, DENSE_FROM)));
  },
  smaller: (params) => (params.kept === undefined ? { ...params, ...SMALLER } : undefined),
  cost(data, params) {
    const { itemCount, items } = data;
    const { kept = ROW_MAX } = params;
    const pairs = pairsOf(data, SET_HISTORY_MAX);
    const met = Math.min(itemCount, pairs / Math.max(1, itemCount)); // items that co-occur with one item, on average
    const neighbours = Math.min(params.neighbours, met);
    const gathering = 4e-9 * neighbours * (Math.min(kept, met) / 2);
    const attributes = params.attributes ? sourceAttributesCost(data, itemCount * met) : { seconds: 0, memoryMb: 0 };
    const solving = 1.6e-8 * neighbours ** 2 * Math.sqrt(met / Math.max(1, itemCount)); // neighbours co-occur more often than random items
    const counted = Math.min(itemCount * kept, pairs / 2);
    const weights = itemCount * neighbours;
    return {
      seconds: 0.01 + 8e-9 * pairs + itemCount * (3e-5 + gathering + solving) + attributes.seconds,
      memoryMb: 30 + (8 * counted + 16 * weights + 20 * items.length) / 1e6 + attributes.memoryMb,
      heldMb: 20 + (8 * weights) / 1e6,
    };
  },
  async fit(data, params, context) {
    const { itemCount } = data;
    const { kept = ROW_MAX } = params;
    const counts = coOccurrence(learnedSets(data, params, SET_HISTORY_MAX), params.userExponent);
    const diagonal = itemWeights(counts);
    const lower = sparseBuilder(itemCount, itemCount);
    const addRow = (item: number, row: RowSum) => {
      const cosine = (other: number) => row.values[other]! / Math.sqrt(diagonal[other]!);
      for (const other of largestColumns(row, kept, (other) => (other > item ? 0 : cosine(other))))
        if (other < item) lower.add(other, row.values[other]!);
      lower.endRow();
    };
    const attributes = params.attributes ? itemAttributeRows(data) : undefined;
    const builder = attributes && priorBuilder(attributes, itemCount);
    const useRow = (item: number, row: RowSum) => {
      builder?.addFeature(item, row, row, diagonal[item]!);
      addRow(item, row);
    };
    await forEachRow(counts, builder ? "whole" : "lower", useRow, (fraction) =>
      reportProgress(context, 0.3 * fraction, "counting co-occurrences"),
    );
    const mean = meanOf(diagonal);
    const prior = await builder?.solve(new Float64Array(attributes!.columnCount).fill(params.attributes! * mean));
    const weights = await localRidge(
      {
        featureCount: itemCount,
        targetCount: itemCount,
        lower: lower.build(),
        diagonal,
        ridge: ridgeOf(diagonal, params.lambda, params.penaltyExponent),
        addTarget: (target, into) => addCoOccurrences(counts, target, into, "whole"),
        isNeighbour: (feature, target) => feature !== target,
        neighbours: params.neighbours,
        ...(prior && { explain: explainedBy(prior) }),
      },
      (fraction) => reportProgress(context, 0.3 + (prior ? 0.5 : 0.7) * fraction, "solving for each item"),
    );
    const matrix = prior
      ? await withPrior(weights, { prior, keep: params.neighbours }, (fraction) =>
          reportProgress(context, 0.8 + 0.2 * fraction, "adding the weights from attributes"),
        )
      : weights;
    const terms = [{ weighting: setWeighting(params.recentScale, params.halfLifeDays), matrix }];
    return fittedLinear("local_ridge", params, { itemCount, terms, uses: timesChosen(data) });
  },
};

/** Subtracts what the prior explains, without an item's own weight, which sets do not have. */
const explainedBy =
  (prior: AttributePrior) =>
  (target: number, neighbours: Int32Array, entries: Float64Array): void => {
    const own = prior.weightOf(target, target);
    const withItself = entries.map((entry) => own * entry);
    prior.explain(target, neighbours, entries);
    for (const [i, amount] of withItself.entries()) entries[i]! += amount;
  };
