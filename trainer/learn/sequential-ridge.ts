import { type PriorBuilder, priorBuilder } from "./attributes/attribute-prior.ts";
import { attributesSetting, sourceAttributes, sourceAttributesCost } from "./attributes/source-attributes.ts";
import { checkpoint } from "./checkpoint.ts";
import { fittedLinear } from "./linear/fitted-linear.ts";
import type { LinearModel } from "./linear/linear-model.ts";
import { meanOf } from "./linear/ridge.ts";
import type { Cost, FitContext, Method, TrainingData } from "./model.ts";
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
import { clearRow, rowSum } from "./weights/row-sum.ts";
import { denseWeights } from "./weights/weight-matrix.ts";

export type SequentialRidgeParams = {
  /** Decay of the far look back, in history entries, and where it ends. */
  readonly longScale: number;
  readonly longWindow: number;
  /** The near look back; scale 0: only one look. */
  readonly shortScale: number;
  readonly shortWindow: number;
  /** A look between the two; absent or 0: none. */
  readonly middleScale?: number;
  readonly middleWindow?: number;
  /** Ridge, relative to the mean of the sources' second moments. Grows with sparsity. */
  readonly lambda: number;
  /** How much the histories read backwards count. */
  readonly reversed: number;
  /** 1: interactions of negative label teach what follows what as positive ones do; 0: they are left out. */
  readonly negatives: number;
  /** Ridge on what items' attributes say, as `lambda` is on items; absent or 0: they say nothing. */
  readonly attributes?: number;
};

/** Histories longer than this add their newest entries only. */
export const SEQUENCE_MAX = 1000;

/**
 * Ridge regression from what a user had, near and far back, to what came next: W = (A + Λ)⁻¹ C, in closed form. The
 * constant feature learns popularity, so that a growing ridge leads to popularity and not to nothing.
 */
export const sequentialRidge: Method<SequentialRidgeParams> = {
  name: "sequential_ridge",
  grid: sequentialGrid,
  cost(data, params) {
    const looks = decaysOf(params).length;
    // Factoring is looks³/3·n³ multiply-adds and solving looks²·2·n³, 100 G of them a second. Matrices are float32.
    const solving = ((looks ** 3 / 3 + 2 * looks ** 2) / 1e11) * data.itemCount ** 3;
    const matrices = (2 * looks ** 2 + 5 * looks) * data.itemCount ** 2;
    const more = attributesCost(data, params);
    return {
      seconds: 0.05 + solving + countingSeconds(data, params) + more.seconds,
      memoryMb: 100 + (matrices + 40 * data.items.length) / 1e6 + more.memoryMb,
    };
  },
  async fit(data, params, context) {
    const decays = decaysOf(params);
    const statistics = sequentialStatistics(taughtHistories(data, params), decays, params.reversed);
    const linear = await solved(data, statistics, { decays, params, context });
    return fittedLinear("sequential_ridge", params, { ...linear, uses: timesChosen(data) });
  },
};

/** What the statistics are taken of. */
export const taughtHistories = (data: TrainingData, { negatives }: SequentialRidgeParams): Histories =>
  (negatives > 0 ? wholeHistories : positiveHistories)(data, SEQUENCE_MAX);

/** What learning from attributes costs besides. */
export const attributesCost = (data: TrainingData, params: SequentialRidgeParams): Cost =>
  params.attributes ? sourceAttributesCost(data, sourceEntries(data, params)) : { seconds: 0, memoryMb: 0 };

/** Second moments other than zero, at most: each entry meets those within its windows, or its whole history if that is shorter. */
export function sourceEntries({ itemCount, items, userCount }: TrainingData, params: SequentialRidgeParams): number {
  const looks = decaysOf(params).length;
  const met = looks * Math.min(params.longWindow, items.length / Math.max(1, userCount));
  return Math.min((looks * itemCount) ** 2, looks * met * items.length);
}

const SECONDS_PER_PAIR = 3e-9;

/** Of the second moments: each entry meets those within its windows, or its whole history if that is shorter. */
export function countingSeconds({ items, userCount }: TrainingData, params: SequentialRidgeParams): number {
  const length = items.length / Math.max(1, userCount);
  const met = decaysOf(params).map(({ window }) => Math.min(window, length));
  const pairs = 4 * met.reduce((sum, own) => sum + own, 0) * met.length;
  // With attributes rows are counted whole, and not their lower halves only.
  return SECONDS_PER_PAIR * items.length * pairs * (params.reversed > 0 ? 2 : 1) * (params.attributes ? 2 : 1);
}

/** Of a ridge that serves: denser data need less of it. Measured on four public sets from 12 to 290 entries per item. */
const LAMBDA_TIMES_DENSITY = 80;

/** Entries per item below which what is near, in either direction, is the better first guess. */
const SPARSE_BELOW = 100;

/** Settings for this density of data: near the likely ridge, with and without the histories read backwards. */
export function sequentialGrid(data: TrainingData): SequentialRidgeParams[] {
  const { items, itemCount } = data;
  const density = Math.max(1, items.length / Math.max(1, itemCount));
  const lambda = Number(Math.min(30, Math.max(0.1, LAMBDA_TIMES_DENSITY / density)).toPrecision(2));
  const far = { longScale: 20, longWindow: 60, shortScale: 2, shortWindow: 8 };
  const three = { longScale: 30, longWindow: 100, middleScale: 4, middleWindow: 12, shortScale: 0.7, shortWindow: 2 };
  const near = { longScale: 10, longWindow: 40, shortScale: 1, shortWindow: 3 };
  const one = { longScale: 5, longWindow: 15, shortScale: 0, shortWindow: 0 };
  const forward = { ...far, lambda, reversed: 0, negatives: 0 };
  const both = { ...near, lambda, reversed: 0.3, negatives: 0 };
  const settings = [
    ...(density < SPARSE_BELOW ? [both, forward] : [forward, { ...forward, ...three }, both]),
    { ...far, lambda: 3 * lambda, reversed: 0, negatives: 0 },
    { ...far, lambda, reversed: 0.3, negatives: 0 },
    { ...one, lambda, reversed: 0, negatives: 0 },
    { ...far, shortScale: 0, shortWindow: 0, lambda: 30, reversed: 0.5, negatives: 0 },
    // A tenth and a twentieth of what the others cost, for those who have little time; and what hardly depends on more than the last.
    { longScale: 2, longWindow: 6, shortScale: 0, shortWindow: 0, lambda, reversed: 0, negatives: 0 },
    { longScale: 1, longWindow: 3, shortScale: 0, shortWindow: 0, lambda: lambda / 3, reversed: 0, negatives: 0 },
  ];
  if (hasNegatives(data)) settings.splice(1, 0, ...settings.slice(0, 2).map((own) => ({ ...own, negatives: 1 })));
  const setting = attributesSetting(data);
  if (setting.attributes === undefined) return settings;
  const [first, ...others] = settings.map((own) => ({ ...own, ...setting }));
  return [first!, settings[0]!, ...others];
}

export function decaysOf(params: SequentialRidgeParams): Decay[] {
  const { longScale, longWindow, middleScale = 0, middleWindow = 0, shortScale, shortWindow } = params;
  const looks = [
    { scale: longScale, window: longWindow },
    { scale: middleScale, window: middleWindow },
    { scale: shortScale, window: shortWindow },
  ];
  return looks.filter(({ scale }, look) => look === 0 || scale > 0);
}

type SolveOptions = {
  readonly decays: readonly Decay[];
  readonly params: SequentialRidgeParams;
  readonly context: FitContext;
};

async function solved(
  data: TrainingData,
  statistics: SequentialStatistics,
  { decays, params, context }: SolveOptions,
): Promise<LinearModel> {
  const { itemCount } = data;
  const { featureCount } = statistics;
  const attributes = params.attributes ? sourceAttributes(data, decays.length) : undefined;
  const builder = attributes && priorBuilder(attributes, itemCount);
  const { tiles, targets, diagonal } = await countedMoments(statistics, { itemCount, builder, context });
  const mean = meanOf(diagonal.subarray(0, -1));
  const gemm = openGemm();
  try {
    const prior = await builder?.solve(sourceRidge(attributes!.columnCount, params.attributes! * mean), gemm);
    await prior?.explainAll(targets, gemm);
    const ridge = sourceRidge(featureCount, params.lambda * mean);
    addDiagonal(tiles, (feature) => ridge[feature]!);
    await factor(tiles, gemm, (share) => checkpoint(context, 0.4 + 0.2 * share, "factoring"));
    await solve(tiles, { rows: featureCount, columns: itemCount, values: targets }, gemm, (share) =>
      checkpoint(context, 0.6 + 0.4 * share, "solving"),
    );
    for (let feature = 0; prior && feature < featureCount; feature++)
      prior.addWeights(feature, targets.subarray(feature * itemCount, (feature + 1) * itemCount));
  } finally {
    await gemm.close();
  }
  const terms = decays.map(({ scale, window }, decay) => {
    const values = targets.subarray(decay * itemCount ** 2, (decay + 1) * itemCount ** 2);
    const weighting = { distinct: false, scale, halfLifeDays: Number.POSITIVE_INFINITY, window };
    return { weighting, matrix: denseWeights(itemCount, itemCount, values) };
  });
  return { itemCount, terms, bias: targets.subarray((featureCount - 1) * itemCount) };
}

/** The same for all features but the last, the constant: its own is 1, so that popularity is never shrunk away. */
export function sourceRidge(featureCount: number, ridge: number): Float64Array {
  const all = new Float64Array(featureCount).fill(ridge);
  all[featureCount - 1] = 1;
  return all;
}

type Counting = {
  readonly itemCount: number;
  readonly builder: PriorBuilder | undefined;
  readonly context: FitContext;
};

/** A, its diagonal, and C row by row. */
async function countedMoments(statistics: SequentialStatistics, { itemCount, builder, context }: Counting) {
  const { featureCount } = statistics;
  const tiles = symmetricTiles(featureCount);
  const targets = new Float32Array(featureCount * itemCount);
  const diagonal = new Float64Array(featureCount);
  const sources = rowSum(featureCount);
  const following = rowSum(itemCount);
  for (let feature = 0; feature < featureCount; feature++) {
    statistics.addSources(feature, sources, builder ? "whole" : "lower");
    statistics.addTargets(feature, following);
    builder?.addFeature(feature, sources, following);
    diagonal[feature] = sources.values[feature]!;
    setLower(tiles, feature, sources.values);
    targets.set(following.values, feature * itemCount);
    clearRow(sources);
    clearRow(following);
    if (feature % 256 === 0) await checkpoint(context, (0.4 * feature) / featureCount, "counting sequences");
  }
  return { tiles, targets, diagonal };
}
