import type { Cost, TrainingData } from "../model.ts";
import { sparseBuilder } from "../weights/sparse-builder.ts";
import type { SparseWeights } from "../weights/weight-matrix.ts";
import { describedItems, itemFeatures } from "./item-features.ts";

/** Ridge on attributes, relative to the mean of the second moments as λ is. On Amazon Beauty, 5 to 80 were equally good. */
const RIDGE = 20;
/** From this number of interactions per item on, attributes add nothing. */
const DENSE_FROM = 100;
/** Largest number of multiply-adds to compute the prior's weights for all item pairs: some minutes. */
const WORK_MAX = 1e11;
/** Largest number of attribute weights in memory. */
const WEIGHTS_MAX = 5e7;

/** Number of attributes whose weights fit into memory; the most frequent ones are used. */
const attributesMax = (itemCount: number) => Math.min(1000, Math.floor(WEIGHTS_MAX / itemCount));

/** Ridge on attributes, or 1 for a network; absent: they are not used. */
export type AttributesSetting = { readonly attributes?: number };

/** True where items share attributes, and have so few interactions (below `denseFrom` per item) that attributes help. */
const canUseAttributes = ({ itemCount, items, itemAttributes }: TrainingData, denseFrom = DENSE_FROM): boolean =>
  items.length < denseFrom * itemCount && describedItems(itemAttributes, itemCount).featureCount > 0;

/** The setting with which a network learns from attributes. */
export const networkAttributes = (data: TrainingData): AttributesSetting =>
  canUseAttributes(data) ? { attributes: 1 } : {};

/** Number of vectors that a network learns for items, and for their features if it uses attributes. */
export const vectorCount = ({ itemCount, itemAttributes }: TrainingData, params: AttributesSetting): number =>
  itemCount + (params.attributes ? describedItems(itemAttributes, itemCount).featureCount : 0);

/** The setting with which a ridge learns from attributes; empty where the data's attributes cannot help. */
export function attributesSetting(data: TrainingData, denseFrom = DENSE_FROM): AttributesSetting {
  const { itemCount, itemAttributes } = data;
  const work = itemCount * describedItems(itemAttributes, itemCount).entryCount;
  return canUseAttributes(data, denseFrom) && work <= WORK_MAX ? { attributes: RIDGE } : {};
}

/** The items' most frequent features, as many as a prior can use. [itemCount, count] */
export function itemAttributeRows({ itemAttributes, itemCount }: TrainingData): SparseWeights {
  const { columnCount, start, columns, values } = itemFeatures(itemAttributes, itemCount);
  const count = Math.min(columnCount, attributesMax(itemCount));
  const builder = sparseBuilder(itemCount, count);
  for (let item = 0; item < itemCount; item++) {
    for (let at = start[item]!; at < start[item + 1]!; at++)
      if (columns[at]! < count) builder.add(columns[at]!, values[at]!);
    builder.endRow();
  }
  return builder.build();
}

export type Settings<P> = readonly [P, ...P[]];

/** Settings that use attributes, and the best guess without them behind the best guess; unchanged if attributes cannot help. */
export function withAttributes<P>(settings: Settings<P>, setting: AttributesSetting): Settings<P> {
  if (!setting.attributes) return settings;
  const [first, ...others] = settings;
  return [{ ...first, ...setting }, first, ...others.map((params) => ({ ...params, ...setting }))];
}

/**
 * The matrix S of an AttributePrior on windows of a history. Row d · itemCount + i is item i under decay d; the last row is the
 * constant, whose only attribute is the last column. Only the far window (d = 0) has attributes: a taste for a kind of item
 * lasts longer than one for an item.
 */
export function sourceAttributes(data: TrainingData, decayCount: number): SparseWeights {
  const { itemCount } = data;
  const items = itemAttributeRows(data);
  const count = items.columnCount;
  const builder = sparseBuilder(decayCount * itemCount + 1, count + 1);
  for (let item = 0; item < itemCount; item++) {
    for (let at = items.start[item]!; at < items.start[item + 1]!; at++)
      builder.add(items.columns[at]!, items.values[at]!);
    builder.endRow();
  }
  for (let row = itemCount; row < decayCount * itemCount; row++) builder.endRow();
  builder.add(count, 1);
  builder.endRow();
  return builder.build();
}

/** The extra cost of attributes in a fit whose second moments have `entries` values that are not zero. */
export function sourceAttributesCost({ itemAttributes, itemCount }: TrainingData, entries: number): Cost {
  const { featureCount, entryCount } = describedItems(itemAttributes, itemCount);
  const count = Math.min(featureCount, attributesMax(itemCount)) + 1;
  const perItem = entryCount / Math.max(1, itemCount);
  const known = Math.min(itemCount * count, entries * perItem); // entries of A·S
  const solving = count ** 3 / 2.5e10 + (2 * count ** 2 * itemCount) / 3e10;
  return {
    seconds:
      solving + 4e-9 * (entries * perItem + known * count ** 0.5) + 2e-9 * itemCount * (entryCount + 12 * itemCount),
    memoryMb: (16 * known + 8 * count * (itemCount + count)) / 1e6,
  };
}
