import * as ort from "onnxruntime-node";
import { itemFeatures } from "../attributes/item-features.ts";
import type { TrainingData } from "../model.ts";
import { add, gatherRows, poolRows } from "../numerics/autodiff/operators.ts";
import type { Tape, Tensor } from "../numerics/autodiff/tape.ts";
import type { SparseWeights } from "../weights/weight-matrix.ts";
import type { Averages } from "./averages.ts";

/** The parameter whose rows are the items' own vectors. */
export const ITEM_TABLE = "item_table";
/** The parameter whose rows are the vectors of the items' features. */
export const FEATURE_TABLE = "feature_table";

/** Largest number of features that describe one item to a network: those with the largest weights. */
const PER_ITEM_MAX = 16;

/** The features of every item, padded to one length with weight 0. */
export type FeatureTable = {
  readonly featureCount: number;
  readonly perItem: number;
  readonly ids: Int32Array<ArrayBuffer>; // [itemCount * perItem]
  readonly weights: Float32Array<ArrayBuffer>; // [itemCount * perItem]
};

/** What the items' attributes tell of them. */
export const describedItemTable = ({ itemAttributes, itemCount }: TrainingData): FeatureTable =>
  featureTable(itemFeatures(itemAttributes, itemCount));

export function featureTable({ rowCount, columnCount, start, columns, values }: SparseWeights): FeatureTable {
  const strongest = (item: number) =>
    Array.from({ length: start[item + 1]! - start[item]! }, (_, i) => start[item]! + i)
      .sort((a, b) => values[b]! - values[a]! || a - b)
      .slice(0, PER_ITEM_MAX);
  const rows = Array.from({ length: rowCount }, (_, item) => strongest(item));
  const perItem = rows.reduce((most, row) => Math.max(most, row.length), 1);
  const ids = new Int32Array(rowCount * perItem);
  const weights = new Float32Array(rowCount * perItem);
  for (const [item, row] of rows.entries()) {
    for (const [i, at] of row.entries()) {
      ids[item * perItem + i] = columns[at]!;
      weights[item * perItem + i] = values[at]!;
    }
  }
  return { featureCount: columnCount, perItem, ids, weights };
}

/**
 * Declares the items' vectors for training: an item's own vector plus the weighted sum of its features' vectors, so that items with
 * few interactions borrow from similar ones. The returned function maps int32 indices of any shape to vectors, shape × [width].
 */
export function itemVectors(
  tape: Tape,
  { itemCount, width }: { readonly itemCount: number; readonly width: number },
  features: FeatureTable | undefined,
): (indices: string) => Tensor {
  const { graph } = tape;
  const table = tape.parameter(ITEM_TABLE, [itemCount, width]);
  if (!features) return (indices) => gatherRows(tape, table, indices);
  const { featureCount, perItem } = features;
  const byFeature = tape.parameter(FEATURE_TABLE, [featureCount, width]);
  const ids = graph.input("feature_ids", "int32", [itemCount, perItem]);
  const weights = graph.input("feature_weights", "float32", [itemCount, perItem]);
  return (indices) => {
    const rows = gatherRows(tape, byFeature, graph.op("Gather", [ids, indices]));
    const described = poolRows(tape, rows, tape.constant(graph.op("Gather", [weights, indices])));
    return add(tape, gatherRows(tape, table, indices), described);
  };
}

/** The graph inputs that `itemVectors` declares. */
export function featureFeeds(features: FeatureTable | undefined): Record<string, ort.Tensor> {
  if (!features) return {};
  const { perItem, ids, weights } = features;
  const dims = [ids.length / perItem, perItem];
  return {
    feature_ids: new ort.Tensor("int32", ids, dims),
    feature_weights: new ort.Tensor("float32", weights, dims),
  };
}

/** The parameters with each item's features added to its own vector: the form that scores and is served. */
export function folded(parameters: Averages, features: FeatureTable | undefined): Averages {
  if (!features) return parameters;
  const { perItem, ids, weights } = features;
  const { [ITEM_TABLE]: own, [FEATURE_TABLE]: byFeature, ...others } = Object.fromEntries(parameters);
  const width = own!.dims[1]!;
  const value = own!.value.slice();
  for (const [at, weight] of weights.entries()) {
    if (weight === 0) continue;
    const [into, from] = [Math.floor(at / perItem) * width, ids[at]! * width];
    for (let i = 0; i < width; i++) value[into + i]! += weight * byFeature!.value[from + i]!;
  }
  return new Map(Object.entries({ [ITEM_TABLE]: { dims: own!.dims, value }, ...others }));
}
