import { type PriorBuilder, priorBuilder } from "./attributes/attribute-prior.ts";
import {
  attributesSetting,
  sourceAttributes,
  sourceAttributesCost,
  withAttributes,
} from "./attributes/source-attributes.ts";
import { fittedLinear } from "./linear/linear-export.ts";
import type { LinearModel, LinearTerm } from "./linear/linear-model.ts";
import { meanOf } from "./linear/ridge.ts";
import { type Cost, type FitContext, type Method, reportProgress, type TrainingData } from "./model.ts";
import { addDiagonal, factor, setLower, solve, symmetricTiles } from "./numerics/linear-algebra/cholesky.ts";
import { openGemm } from "./numerics/linear-algebra/gemm.ts";
import {
  type Histories,
  hasNegatives,
  positiveHistories,
  timesChosen,
  wholeHistories,
} from "./statistics/histories.ts";
import { type Decay, type SequentialStatistics, sequentialStatistics } from "./statistics/sequential-statistics.ts";
import { clearRow, type RowSum, rowSum } from "./weights/row-sum.ts";
import { denseWeights, type WeightMatrix } from "./weights/weight-matrix.ts";

export type SequentialRidgeParams = {
  /** Decay of the far window, and its length, in history entries. */
  readonly longScale: number;
  readonly longWindow: number;
  /** The near window; scale 0: there is none. */
  readonly shortScale: number;
  readonly shortWindow: number;
  /** A window between the two; absent or 0: there is none. */
  readonly middleScale?: number;
  readonly middleWindow?: number;
  /** Ridge, relative to the mean of the features' second moments. Sparser data need more. */
  readonly lambda: number;
  /** Weight of the histories read backwards; 0: they are read forwards only. */
  readonly reversed: number;
  /** 1: interactions with a negative label count as positive ones do; 0: they are left out. */
  readonly negatives: number;
  /** Ridge on item attributes, relative as `lambda` is; absent or 0: attributes are not used. */
  readonly attributes?: number;
};

/** Only this number of newest entries of a history is used. */
export const SEQUENCE_MAX = 1000;

/**
 * Computes W = (A + Λ)⁻¹ C in closed form: a ridge regression from the items in one to three decaying windows of a history
 * (second moments A) to the next item (C). A constant feature learns popularity, so that a growing ridge leads to popularity and
 * not to zero. It extends EASE (Steck 2019) to sequences.
 * Wins: next item, up to about 6,000 items; the best quality per second. Cost: cubic in windows · items.
 */
export const sequentialRidge: Method<SequentialRidgeParams> = {
  name: "sequential_ridge",
  reads: "sequence",
  grid: sequentialGrid,
  cost(data, params) {
    const windows = decaysOf(params).length;
    // Factoring takes windows³/3 · n³ multiply-adds and solving 2 · windows² · n³, at 1e11 per second. Matrices are float32.
    const solving = ((windows ** 3 / 3 + 2 * windows ** 2) / 1e11) * data.itemCount ** 3;
    const matrices = (2 * windows ** 2 + 5 * windows) * data.itemCount ** 2;
    const attributes = attributesCost(data, params);
    return {
      seconds: 0.05 + solving + countingSeconds(data, params) + attributes.seconds,
      memoryMb: 100 + (matrices + 40 * data.items.length) / 1e6 + attributes.memoryMb,
    };
  },
  async fit(data, params, context) {
    const decays = decaysOf(params);
    const statistics = sequentialStatistics(learnedHistories(data, params), decays, params.reversed);
    const linear = await solvedModel(data, statistics, { decays, params, context });
    return fittedLinear("sequential_ridge", params, { ...linear, uses: timesChosen(data) });
  },
};

/** The histories that the statistics are computed from. */
export const learnedHistories = (data: TrainingData, { negatives }: SequentialRidgeParams): Histories =>
  (negatives > 0 ? wholeHistories : positiveHistories)(data, SEQUENCE_MAX);

/** The extra cost of learning from attributes. */
export const attributesCost = (data: TrainingData, params: SequentialRidgeParams): Cost =>
  params.attributes ? sourceAttributesCost(data, momentCount(data, params)) : { seconds: 0, memoryMb: 0 };

const meanLength = ({ items, userCount }: TrainingData) => items.length / Math.max(1, userCount);

/** Upper bound of the number of second moments that are not zero: each entry meets the others within its windows. */
export function momentCount(data: TrainingData, params: SequentialRidgeParams): number {
  const windows = decaysOf(params).length;
  const met = windows * Math.min(params.longWindow, meanLength(data));
  return Math.min((windows * data.itemCount) ** 2, windows * met * data.items.length);
}

const SECONDS_PER_PAIR = 3e-9;

/** Seconds of counting the second moments: each entry meets the others within its windows. */
export function countingSeconds(data: TrainingData, params: SequentialRidgeParams): number {
  const met = decaysOf(params).map(({ window }) => Math.min(window, meanLength(data)));
  const pairs = 4 * met.reduce((sum, count) => sum + count, 0) * met.length;
  // With attributes whole rows are counted, otherwise only their lower halves.
  return SECONDS_PER_PAIR * data.items.length * pairs * (params.reversed > 0 ? 2 : 1) * (params.attributes ? 2 : 1);
}

/** Windows of the far and the near ridge. */
const FAR = { longScale: 20, longWindow: 60, shortScale: 2, shortWindow: 8 };
const NEAR = { longScale: 10, longWindow: 40, shortScale: 1, shortWindow: 3 };
const THREE_WINDOWS = {
  longScale: 30,
  longWindow: 100,
  middleScale: 4,
  middleWindow: 12,
  shortScale: 0.7,
  shortWindow: 2,
};
const oneWindow = (longScale: number, longWindow: number) => ({ longScale, longWindow, shortScale: 0, shortWindow: 0 });

/** The best ridge times the density (entries per item). Measured on four public data sets with 12 to 290 entries per item. */
const LAMBDA_TIMES_DENSITY = 80;
/** Below this density, near windows read in both directions are the better first guess. Measured on the same data sets. */
const SPARSE_BELOW = 100;

const densityOf = ({ items, itemCount }: TrainingData) => Math.max(1, items.length / Math.max(1, itemCount));
const lambdaFor = (data: TrainingData) =>
  Number(Math.min(30, Math.max(0.1, LAMBDA_TIMES_DENSITY / densityOf(data))).toPrecision(2));

/** The best guesses with far and with near windows, which a blend adds up: first the far one, then the near one, also read backwards. */
export function farAndNear(data: TrainingData): readonly [far: SequentialRidgeParams, near: SequentialRidgeParams] {
  const both = { lambda: lambdaFor(data), negatives: 0, ...attributesSetting(data) };
  return [
    { ...FAR, ...both, reversed: 0 },
    { ...NEAR, ...both, reversed: 0.3 },
  ];
}

/** Settings for data of this density: ridges near the likely best one, with and without reading the histories backwards. */
export function sequentialGrid(data: TrainingData): readonly SequentialRidgeParams[] {
  const density = densityOf(data);
  const lambda = lambdaFor(data);
  const forward = { ...FAR, lambda, reversed: 0, negatives: 0 };
  const both = { ...NEAR, lambda, reversed: 0.3, negatives: 0 };
  const settings = [
    ...(density < SPARSE_BELOW ? [both, forward] : [forward, { ...forward, ...THREE_WINDOWS }, both]),
    { ...FAR, lambda: 3 * lambda, reversed: 0, negatives: 0 },
    { ...FAR, lambda, reversed: 0.3, negatives: 0 },
    { ...oneWindow(5, 15), lambda, reversed: 0, negatives: 0 },
    { ...FAR, shortScale: 0, shortWindow: 0, lambda: 30, reversed: 0.5, negatives: 0 },
    // Cheap settings for little time: a tenth and a twentieth of the cost. The second nearly reads the last item alone.
    { ...oneWindow(2, 6), lambda, reversed: 0, negatives: 0 },
    { ...oneWindow(1, 3), lambda: lambda / 3, reversed: 0, negatives: 0 },
  ];
  if (hasNegatives(data)) settings.splice(1, 0, ...settings.slice(0, 2).map((params) => ({ ...params, negatives: 1 })));
  const [first, ...others] = settings;
  return withAttributes<SequentialRidgeParams>([first!, ...others], attributesSetting(data));
}

/** The far, the middle and the near window, as far as the settings have them. */
export function decaysOf(params: SequentialRidgeParams): Decay[] {
  const { longScale, longWindow, middleScale = 0, middleWindow = 0, shortScale, shortWindow } = params;
  const decays = [
    { scale: longScale, window: longWindow },
    { scale: middleScale, window: middleWindow },
    { scale: shortScale, window: shortWindow },
  ];
  return decays.filter(({ scale }, i) => i === 0 || scale > 0);
}

type SolveOptions = {
  readonly decays: readonly Decay[];
  readonly params: SequentialRidgeParams;
  readonly context: FitContext;
};

async function solvedModel(
  data: TrainingData,
  statistics: SequentialStatistics,
  { decays, params, context }: SolveOptions,
): Promise<LinearModel> {
  const { itemCount } = data;
  const { featureCount } = statistics;
  const attributes = params.attributes ? sourceAttributes(data, decays.length) : undefined;
  const builder = attributes && priorBuilder(attributes, itemCount);
  const tiles = symmetricTiles(featureCount); // A
  const targets = new Float32Array(featureCount * itemCount); // C, then W
  const counting = { itemCount, builder, needsTargets: true, context };
  const diagonal = await forEachFeature(statistics, counting, (feature, sources, following) => {
    setLower(tiles, feature, sources.values);
    targets.set(following.values, feature * itemCount);
  });
  const mean = meanOf(diagonal.subarray(0, -1));
  const gemm = openGemm();
  try {
    const prior = await builder?.solve(featureRidge(attributes!.columnCount, params.attributes! * mean), gemm);
    await prior?.explainAll(targets, gemm);
    const ridge = featureRidge(featureCount, params.lambda * mean);
    addDiagonal(tiles, (feature) => ridge[feature]!);
    await factor(tiles, gemm, (fraction) => reportProgress(context, 0.4 + 0.2 * fraction, "factoring"));
    await solve(tiles, { rows: featureCount, columns: itemCount, values: targets }, gemm, (fraction) =>
      reportProgress(context, 0.6 + 0.4 * fraction, "solving"),
    );
    for (let feature = 0; prior && feature < featureCount; feature++)
      prior.addWeights(feature, targets.subarray(feature * itemCount, (feature + 1) * itemCount));
  } finally {
    await gemm.close();
  }
  const terms = termsOf(decays, (decay) =>
    denseWeights(itemCount, itemCount, targets.subarray(decay * itemCount ** 2, (decay + 1) * itemCount ** 2)),
  );
  return { itemCount, terms, bias: targets.subarray((featureCount - 1) * itemCount) };
}

/** The ridge of each feature. The last feature, the constant, gets 1, so that popularity is never shrunk away. */
export function featureRidge(featureCount: number, ridge: number): Float64Array {
  const all = new Float64Array(featureCount).fill(ridge);
  all[featureCount - 1] = 1;
  return all;
}

/** One term for each decay; every occurrence of an item counts. */
export const termsOf = (decays: readonly Decay[], matrixOf: (decay: number) => WeightMatrix): LinearTerm[] =>
  decays.map(({ scale, window }, decay) => ({
    weighting: { distinct: false, scale, window },
    matrix: matrixOf(decay),
  }));

type Counting = {
  readonly itemCount: number;
  readonly builder: PriorBuilder | undefined;
  /** False: `use` gets the rows of C only if the prior needs them too. */
  readonly needsTargets: boolean;
  readonly context: FitContext;
};

/**
 * Counts the rows of A (sources) and C (targets) one after the other, adds them to the prior's builder and passes them to `use`,
 * which must not keep them. Returns the diagonal of A. Float64Array(featureCount)
 */
export async function forEachFeature(
  statistics: SequentialStatistics,
  { itemCount, builder, needsTargets, context }: Counting,
  use: (feature: number, sources: RowSum, targets: RowSum) => void,
): Promise<Float64Array> {
  const { featureCount } = statistics;
  const diagonal = new Float64Array(featureCount);
  const sources = rowSum(featureCount);
  const targets = rowSum(itemCount);
  for (let feature = 0; feature < featureCount; feature++) {
    statistics.addSources(feature, sources, builder ? "whole" : "lower");
    if (builder || needsTargets) statistics.addTargets(feature, targets);
    builder?.addFeature(feature, sources, targets);
    diagonal[feature] = sources.values[feature]!;
    use(feature, sources, targets);
    clearRow(sources);
    clearRow(targets);
    if (feature % 256 === 0) await reportProgress(context, (0.4 * feature) / featureCount, "counting sequences");
  }
  return diagonal;
}
