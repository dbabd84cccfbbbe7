import { FEATURES_KEPT, type FeatureRows, KNOWN_ENTRIES_MAX } from "../../../shared/items/extension-file.ts";
import type { AttributeColumn } from "../../read/dataset/dataset.ts";
import { openGemm } from "../numerics/linear-algebra/gemm.ts";
import { denseWeights, type SparseWeights, strongestWeights } from "../weights/weight-matrix.ts";
import { solvedTargets } from "./attribute-ridge.ts";
import { COLD_SETTINGS } from "./cold-items.ts";
import { itemFeatures } from "./item-features.ts";

export type NewItemWeights = {
  readonly known: FeatureRows;
  /** A row for each new item; an empty one if the item has no feature of a known item. */
  readonly weights: FeatureRows;
  readonly featureCount: number;
};

/**
 * How new items are scored from the scores of known ones, by the features and the ridge that place cold items: T and
 * (TᵀT + λI)⁻¹ T_cᵀ of shared/items/extension-file.ts. Cost: features³, some seconds for 4,000 features.
 *
 * @param columns Attributes of known items, the most popular first, and then of the new ones.
 */
export async function newItemWeights(
  columns: readonly AttributeColumn[],
  { knownCount, newCount }: { readonly knownCount: number; readonly newCount: number },
): Promise<NewItemWeights> {
  const features = itemFeatures(columns, knownCount + newCount);
  const { rowCount, columnCount } = features;
  let count = 0; // known items whose features are kept
  while (count < knownCount && features.start[count + 1]! <= KNOWN_ENTRIES_MAX) count++;
  const isShared = new Uint8Array(columnCount);
  for (let at = 0; at < features.start[count]!; at++) isShared[features.columns[at]!] = 1;
  const targets = Int32Array.from({ length: newCount }, (_, i) => rowCount - newCount + i);
  const hasShared = Uint8Array.from(targets, (row) =>
    rowOf(features, row).some((column) => isShared[column]) ? 1 : 0,
  );
  if (!hasShared.includes(1)) return { known: NO_ROWS, weights: emptyRows(newCount), featureCount: columnCount };
  const gemm = openGemm();
  try {
    const { lambda } = COLD_SETTINGS;
    const solved = await solvedTargets(features, targets, { lambda, isKnown: (item) => item < count, gemm });
    for (let i = 0; i < newCount; i++) {
      const row = solved.values.subarray(i * columnCount, (i + 1) * columnCount);
      if (hasShared[i]) for (let f = 0; f < columnCount; f++) row[f] = isShared[f] ? row[f]! : 0;
      else row.fill(0);
    }
    const strongest = strongestWeights(denseWeights(newCount, columnCount, solved.values), FEATURES_KEPT);
    return {
      known: featureRows(features, count),
      weights: featureRows(strongest, newCount),
      featureCount: columnCount,
    };
  } finally {
    await gemm.close();
  }
}

const rowOf = ({ columns, start }: SparseWeights, row: number) => columns.subarray(start[row], start[row + 1]);

const emptyRows = (count: number): FeatureRows => ({
  start: new Uint32Array(count + 1),
  features: new Uint16Array(0),
  values: new Float32Array(0),
});
const NO_ROWS = emptyRows(0);

/** The first rows of a matrix. */
const featureRows = ({ start, columns, values }: SparseWeights, count: number): FeatureRows => ({
  start: start.slice(0, count + 1),
  features: Uint16Array.from(columns.subarray(0, start[count])),
  values: values.slice(0, start[count]),
});
