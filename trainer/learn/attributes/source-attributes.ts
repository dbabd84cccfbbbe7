import type { Cost, TrainingData } from "../model.ts";
import { sparseBuilder } from "../weights/sparse-builder.ts";
import type { SparseWeights } from "../weights/weight-matrix.ts";
import { describedItems, itemFeatures } from "./item-features.ts";

/** A good ridge on attributes, relative to the mean of the sources' second moments as λ is. Flat from 5 to 80 on Amazon Beauty. */
const RIDGE = 20;
/** Interactions per item from which on single items say what their attributes could. */
const DENSE_FROM = 100;
/** Multiply-adds of writing out what attributes say of every pair of items: some minutes. */
const WORK_MAX = 1e11;
const WEIGHTS_MAX = 5e7;

/** The most frequent ones, as many as their weights leave memory for. */
const attributesMax = (itemCount: number) => Math.min(1000, Math.floor(WEIGHTS_MAX / itemCount));

/** The setting of a sequential ridge that learns from attributes, where these data have such as may help. */
export function attributesSetting(data: TrainingData): { readonly attributes?: number } {
  const { itemCount, items, itemAttributes } = data;
  const { featureCount, entryCount } = describedItems(itemAttributes, itemCount);
  if (featureCount === 0 || items.length >= DENSE_FROM * itemCount) return {};
  return itemCount * entryCount <= WORK_MAX ? { attributes: RIDGE } : {};
}

/**
 * The attributes of sources, S of an AttributePrior: row d · itemCount + i is item i under decay d, the last the constant, which is an
 * attribute of its own, the last. Only what is seen farthest back has any: a taste for a kind of item lasts longer than one for an item.
 */
export function sourceAttributes({ itemAttributes, itemCount }: TrainingData, decayCount: number): SparseWeights {
  const { columnCount, start, columns, values } = itemFeatures(itemAttributes, itemCount);
  const count = Math.min(columnCount, attributesMax(itemCount));
  const builder = sparseBuilder(decayCount * itemCount + 1, count + 1);
  for (let item = 0; item < itemCount; item++) {
    for (let at = start[item]!; at < start[item + 1]!; at++)
      if (columns[at]! < count) builder.add(columns[at]!, values[at]!);
    builder.endRow();
  }
  for (let row = itemCount; row < decayCount * itemCount; row++) builder.endRow();
  builder.add(count, 1);
  builder.endRow();
  return builder.build();
}

/** What attributes add to a fit that counts as many entries of second moments. */
export function sourceAttributesCost({ itemAttributes, itemCount }: TrainingData, entries: number): Cost {
  const { featureCount, entryCount } = describedItems(itemAttributes, itemCount);
  const count = Math.min(featureCount, attributesMax(itemCount)) + 1;
  const ofItem = entryCount / Math.max(1, itemCount);
  const known = Math.min(itemCount * count, entries * ofItem); // entries of A·S
  const solving = count ** 3 / 2.5e10 + (2 * count ** 2 * itemCount) / 3e10;
  return {
    seconds:
      solving + 4e-9 * (entries * ofItem + known * count ** 0.5) + 2e-9 * itemCount * (entryCount + 12 * itemCount),
    memoryMb: (16 * known + 8 * count * (itemCount + count)) / 1e6,
  };
}
