import type { AttributeColumn } from "../../read/dataset/dataset.ts";
import type { SparseWeights } from "../weights/weight-matrix.ts";

/** Features kept: the most frequent ones. The regressions on them cost its third power. */
const FEATURES_MAX = 4000;
/** A feature of one item says nothing about another. */
const ITEMS_MIN = 2;
const QUANTILES = 8;
const WORD = /[\p{L}\p{N}]+/gu;

/**
 * Items by what their attributes say: rows of tf-idf weights, each of length 1 or all zero. A category is a feature,
 * a text as many as it has words, a number the eighth of all numbers that it falls into; a missing value is none.
 */
export function itemFeatures(columns: readonly AttributeColumn[], itemCount: number): SparseWeights {
  const names = new Map<string, number>();
  const ofItem: Set<number>[] = Array.from({ length: itemCount }, () => new Set());
  for (const [c, column] of columns.entries()) {
    const valuesOf = valuesReader(column);
    for (let item = 0; item < itemCount; item++) {
      for (const value of valuesOf(item)) {
        const name = `${c} ${value}`;
        const feature = names.get(name) ?? names.size;
        names.set(name, feature);
        ofItem[item]!.add(feature);
      }
    }
  }
  return weighed(ofItem, names.size);
}

export type DescribedItems = {
  /** [itemCount] 1: the item has a feature that other items have too. */
  readonly isDescribed: Uint8Array;
  readonly featureCount: number;
  /** Features of all items together. */
  readonly entryCount: number;
};

const DESCRIBED = new WeakMap<readonly AttributeColumn[], DescribedItems>();

/** Whom features say something of, and how many there are. Kept for what asks again: predictions of cost. */
export function describedItems(columns: readonly AttributeColumn[], itemCount: number): DescribedItems {
  const known = DESCRIBED.get(columns);
  if (known?.isDescribed.length === itemCount) return known;
  const { start, columnCount } = itemFeatures(columns, itemCount);
  const isDescribed = Uint8Array.from({ length: itemCount }, (_, item) => (start[item + 1]! > start[item]! ? 1 : 0));
  const described = { isDescribed, featureCount: columnCount, entryCount: start[itemCount]! };
  DESCRIBED.set(columns, described);
  return described;
}

/** Gives an item's values as texts that are equal where the values count as equal. */
function valuesReader(column: AttributeColumn): (item: number) => readonly string[] {
  switch (column.type) {
    case "Numerical":
    case "Timestamp": {
      const bounds = quantileBounds(column.values);
      return (item) => {
        const value = column.values[item]!;
        return Number.isNaN(value) ? [] : [String(bounds.filter((bound) => value >= bound).length)];
      };
    }
    case "Boolean":
      return (item) => (column.values[item] === 255 ? [] : [String(column.values[item])]);
    default: {
      const parts = column.dictionary.map((text) =>
        column.type === "Text" ? (text.toLowerCase().match(WORD) ?? []) : [text],
      );
      return (item) =>
        [...column.codes.subarray(column.start[item]!, column.start[item + 1]!)].flatMap((code) => parts[code]!);
    }
  }
}

function quantileBounds(values: Float64Array): number[] {
  const sorted = values.filter((value) => !Number.isNaN(value)).sort();
  const bounds = Array.from(
    { length: QUANTILES - 1 },
    (_, i) => sorted[Math.floor(((i + 1) * sorted.length) / QUANTILES)],
  );
  return bounds.filter((bound) => bound !== undefined);
}

function weighed(ofItem: readonly ReadonlySet<number>[], nameCount: number): SparseWeights {
  const frequency = new Float64Array(nameCount);
  for (const features of ofItem) for (const feature of features) frequency[feature]!++;
  const kept = Array.from({ length: nameCount }, (_, feature) => feature)
    .filter((feature) => frequency[feature]! >= ITEMS_MIN && frequency[feature]! < ofItem.length)
    .sort((a, b) => frequency[b]! - frequency[a]! || a - b)
    .slice(0, FEATURES_MAX);
  const columnOf = new Map(kept.map((feature, column) => [feature, column]));
  const start = new Uint32Array(ofItem.length + 1);
  const columns: number[] = [];
  const values: number[] = [];
  for (const [item, features] of ofItem.entries()) {
    const own = [...features].flatMap((feature) => columnOf.get(feature) ?? []).sort((a, b) => a - b);
    const weights = own.map((column) => Math.log(ofItem.length / frequency[kept[column]!]!));
    const length = Math.hypot(...weights);
    for (const [i, column] of own.entries()) {
      columns.push(column);
      values.push(weights[i]! / length);
    }
    start[item + 1] = columns.length;
  }
  return {
    kind: "sparse",
    rowCount: ofItem.length,
    columnCount: kept.length,
    start,
    columns: Int32Array.from(columns),
    values: Float32Array.from(values),
  };
}
