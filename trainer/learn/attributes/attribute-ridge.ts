import { fittedLinear } from "../linear/linear-export.ts";
import { AS_SET, SET_HISTORY_MAX } from "../linear/linear-model.ts";
import { type Cost, type FitContext, type Method, reportProgress, type TrainingData } from "../model.ts";
import { addDiagonal, factor, setLower, solve, symmetricTiles } from "../numerics/linear-algebra/cholesky.ts";
import { type Gemm, openGemm } from "../numerics/linear-algebra/gemm.ts";
import { addCoOccurrences, coOccurrence } from "../statistics/co-occurrence.ts";
import { countItems, distinctItems, positiveHistories, timesChosen } from "../statistics/histories.ts";
import { clearRow, rowSum } from "../weights/row-sum.ts";
import { sparseBuilder } from "../weights/sparse-builder.ts";
import { addRow, denseWeights, type SparseWeights, strongestWeights } from "../weights/weight-matrix.ts";
import { describedItems, itemFeatures } from "./item-features.ts";
import { addVectors, hasVectors, vectorFeatureCount } from "./vector-features.ts";

export type AttributeRidgeParams = {
  /** Ridge on the attributes, in items: it counts like that many items without any co-occurrence. */
  readonly lambda: number;
  /** Strongest scored items that each source item keeps. */
  readonly neighbours: number;
  /** 1: the items' vectors describe them too. */
  readonly vectors?: number;
};

const SOURCES_PER_BLOCK = 512;
const TARGETS_PER_BLOCK = 1024;
/** Users and items are divided by their count to this power in the co-occurrences. */
const EXPONENT = 0.5;

const SETTING = { lambda: 5, neighbours: 200 };

/**
 * Computes scores for items from their attributes alone: with T the items' features and Y the normalised co-occurrences of the
 * items that were chosen, (TᵀT + λI)⁻¹ TᵀY predicts an item's co-occurrences from its features. An item with features T_c that
 * nobody has chosen is scored as x · D^−½ · Y T (TᵀT + λI)⁻¹ T_cᵀ.
 * Wins: items that nobody has chosen yet. Cost: items² · features.
 */
export const attributeRidge: Method<AttributeRidgeParams> = {
  name: "attribute_ridge",
  grid({ itemAttributes, itemCount }) {
    const byWords = describedItems(itemAttributes, itemCount).featureCount === 0 ? [] : [SETTING];
    return hasVectors(itemAttributes) ? [{ ...SETTING, vectors: 1 }, ...byWords] : byWords;
  },
  cost: (data, params) => attributeCost(data, data.itemCount, params),
  async fit(data, params, context) {
    const all = Int32Array.from({ length: data.itemCount }, (_, item) => item);
    const matrix = await attributeWeights(data, all, params, context);
    const terms = [{ weighting: AS_SET, matrix }];
    return fittedLinear("attribute_ridge", params, { itemCount: data.itemCount, terms, uses: timesChosen(data) });
  },
};

/** The cost of `attributeWeights`: products with every target's features, and one inverse. Measured from 2,000 to 20,000 items. */
export function attributeCost(
  { itemCount, items, userCount, itemAttributes }: TrainingData,
  targetCount: number,
  { neighbours, vectors }: AttributeRidgeParams,
): Cost {
  const more = vectors ? vectorFeatureCount(itemAttributes) : 0;
  const featureCount = describedItems(itemAttributes, itemCount).featureCount + more;
  const counting = 3e-9 * ((items.length / Math.max(1, userCount)) * items.length);
  const products = (targetCount * itemCount * (featureCount + 600)) / 3e10; // 600: keeping the strongest of each row
  const bytes =
    4 * featureCount * (targetCount + SOURCES_PER_BLOCK + 3 * featureCount) +
    4 * targetCount * SOURCES_PER_BLOCK +
    itemCount * (800 + 8 * Math.min(neighbours, targetCount)) +
    24 * items.length;
  return {
    seconds: 0.2 + counting + products + featureCount ** 3 / 2.5e10,
    memoryMb: 100 + bytes / 1e6 + itemAttributes.length,
  };
}

/** Weights from every item (rows) to the `targets` (item indices); each row keeps its strongest. [itemCount, itemCount] */
export async function attributeWeights(
  data: TrainingData,
  targets: Int32Array,
  { lambda, neighbours, vectors }: AttributeRidgeParams,
  context: FitContext,
): Promise<SparseWeights> {
  const { itemCount } = data;
  const counts = coOccurrence(distinctItems(positiveHistories(data, SET_HISTORY_MAX)), 2 * EXPONENT);
  const popularity = countItems(counts.histories);
  const counted = itemFeatures(data.itemAttributes, itemCount);
  const gemm = openGemm();
  try {
    const features = vectors ? await addVectors(counted, data.itemAttributes, gemm) : counted;
    const width = features.columnCount;
    const isKnown = (item: number) => popularity[item]! > 0;
    const solved = await solvedTargets(features, targets, { lambda, isKnown, gemm });
    const builder = sparseBuilder(itemCount, itemCount);
    const row = rowSum(itemCount);
    for (let first = 0; first < itemCount; first += SOURCES_PER_BLOCK) {
      const rows = Math.min(SOURCES_PER_BLOCK, itemCount - first);
      const profiles = new Float32Array(rows * width); // rows of D^−½ · Y T
      for (let source = first; source < first + rows; source++) {
        if (!isKnown(source)) continue;
        const profile = profiles.subarray((source - first) * width, (source - first + 1) * width);
        addCoOccurrences(counts, source, row, "whole");
        for (let i = 0; i < row.count; i++) {
          const item = row.touched[i]!;
          const weight = row.values[item]! / (popularity[source]! * Math.sqrt(popularity[item]!));
          if (item !== source) addRow(features, item, weight, profile);
        }
        clearRow(row);
      }
      const block = { rows, columns: width, values: profiles };
      const scores = await gemm.multiply({ a: block, b: solved, transposeB: true });
      const kept = strongestWeights(denseWeights(rows, targets.length, scores.values), neighbours);
      for (let source = 0; source < rows; source++) {
        for (let at = kept.start[source]!; at < kept.start[source + 1]!; at++) {
          const target = targets[kept.columns[at]!]!;
          if (target !== first + source) builder.add(target, kept.values[at]!);
        }
        builder.endRow();
      }
      await reportProgress(context, 0.1 + (0.9 * first) / itemCount, "scoring items by their attributes");
    }
    return builder.build();
  } finally {
    await gemm.close();
  }
}

type SolveOptions = { readonly lambda: number; readonly isKnown: (item: number) => boolean; readonly gemm: Gemm };

/** T_c (TᵀT + λI)⁻¹, with TᵀT over the items that were chosen. [targetCount, featureCount] */
export async function solvedTargets(
  features: SparseWeights,
  targets: Int32Array,
  { lambda, isKnown, gemm }: SolveOptions,
) {
  const size = features.columnCount;
  const gram = new Float32Array(size * size);
  for (let item = 0; item < features.rowCount; item++) {
    if (!isKnown(item)) continue;
    for (let at = features.start[item]!; at < features.start[item + 1]!; at++) {
      const row = gram.subarray(features.columns[at]! * size, (features.columns[at]! + 1) * size);
      addRow(features, item, features.values[at]!, row);
    }
  }
  const tiles = symmetricTiles(size);
  for (let f = 0; f < size; f++) setLower(tiles, f, gram.subarray(f * size, (f + 1) * size));
  addDiagonal(tiles, () => lambda);
  const identity = gram.fill(0);
  for (let f = 0; f < size; f++) identity[f * size + f] = 1;
  const inverse = await solve(await factor(tiles, gemm), { rows: size, columns: size, values: identity }, gemm);
  const solved = new Float32Array(targets.length * size);
  for (let first = 0; first < targets.length; first += TARGETS_PER_BLOCK) {
    const block = targets.subarray(first, first + TARGETS_PER_BLOCK);
    const rows = new Float32Array(block.length * size);
    for (const [t, target] of block.entries()) addRow(features, target, 1, rows.subarray(t * size, (t + 1) * size));
    const into = solved.subarray(first * size, (first + block.length) * size);
    await gemm.multiply({ a: { rows: block.length, columns: size, values: rows }, b: inverse, into });
  }
  return { rows: targets.length, columns: size, values: solved };
}
