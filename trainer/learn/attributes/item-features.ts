import type { AttributeColumn } from "../../read/dataset/dataset.ts";
import { areKeys } from "../../read/dataset/key-numbers.ts";
import type { SparseWeights } from "../weights/weight-matrix.ts";

/** Number of the most frequent features, which have a column each. */
const OWN_COLUMNS_MAX = 3000;
/** Number of columns that all other features share. Regressions cost the third power of the number of columns. */
const SHARED_COLUMNS_MAX = 1000;
/** A feature that only one item has carries no information about other items. */
const ITEMS_MIN = 2;
const QUANTILES = 8;
const WORD = /[\p{L}\p{N}]+/gu;
/** Length of the pieces of words, where a word's beginning and end count as letters: "^sh", "sho", "hoe", "oe$". */
const PIECE_LENGTH = 3;

/**
 * Items described by their attributes: rows of tf-idf weights, each of length 1 or all zero. Each category is a feature, each word of
 * a text and each piece of a word, each number that names a category, and each eighth (quantile) of another number; a missing value
 * gives no feature. All attributes of an item weigh the same: otherwise the many words of a title hide the item's few categories.
 * [itemCount, featureCount]
 */
export function itemFeatures(columns: readonly AttributeColumn[], itemCount: number): SparseWeights {
  const names = new Map<string, number>();
  const ofItem: Set<number>[] = Array.from({ length: itemCount }, () => new Set());
  const attributeOf: number[] = []; // [number of names]
  for (const [c, column] of columns.entries()) {
    const valuesOf = valuesReader(column);
    for (let item = 0; item < itemCount; item++) {
      for (const value of valuesOf(item)) {
        const name = `${c} ${value}`;
        const feature = names.get(name) ?? names.size;
        names.set(name, feature);
        attributeOf[feature] = c;
        ofItem[item]!.add(feature);
      }
    }
  }
  return weighed(ofItem, attributeOf);
}

export type DescribedItems = {
  /** 1: the item has a feature that other items have too. */
  readonly isDescribed: Uint8Array; // [itemCount]
  readonly featureCount: number;
  /** Sum of the items' numbers of features. */
  readonly entryCount: number;
};

const DESCRIBED = new WeakMap<readonly AttributeColumn[], DescribedItems>();

/** Which items have features, and how many features there are. Cached, because cost predictions need it often. */
export function describedItems(columns: readonly AttributeColumn[], itemCount: number): DescribedItems {
  const known = DESCRIBED.get(columns);
  if (known?.isDescribed.length === itemCount) return known;
  const { start, columnCount } = itemFeatures(columns, itemCount);
  const isDescribed = Uint8Array.from({ length: itemCount }, (_, item) => (start[item + 1]! > start[item]! ? 1 : 0));
  const described = { isDescribed, featureCount: columnCount, entryCount: start[itemCount]! };
  DESCRIBED.set(columns, described);
  return described;
}

/** Returns a function that gives an item's values as texts; equal texts are the same feature. */
function valuesReader(column: AttributeColumn): (item: number) => readonly string[] {
  switch (column.type) {
    case "Numerical":
    case "Timestamp": {
      const bounds = areKeys(column, ITEMS_MIN) ? undefined : quantileBounds(column.values);
      return (item) => {
        const value = column.values[item]!;
        if (Number.isNaN(value)) return [];
        return [String(bounds === undefined ? value : bounds.filter((bound) => value >= bound).length)];
      };
    }
    case "Location": // two items seldom have the same place
    case "Vector": // vector-features.ts
      return () => [];
    case "Boolean":
      return (item) => (column.values[item] === 255 ? [] : [String(column.values[item])]);
    default: {
      const parts = column.dictionary.map((text) => (column.type === "Text" ? wordsAndPieces(text) : [text]));
      return (item) =>
        [...column.codes.subarray(column.start[item]!, column.start[item + 1]!)].flatMap((code) => parts[code]!);
    }
  }
}

/** The words of a text, and their pieces, which related words share ("shoe", "shoes"). A picture as a data address has none. */
function wordsAndPieces(text: string): string[] {
  if (text.startsWith("data:")) return [];
  return (text.toLowerCase().match(WORD) ?? []).flatMap((word) => {
    const letters = [...`^${word}$`];
    const pieces = letters.slice(PIECE_LENGTH - 1).map((_, i) => letters.slice(i, i + PIECE_LENGTH).join(""));
    return [word, ...pieces.filter((piece) => piece !== word)];
  });
}

function quantileBounds(values: Float64Array): number[] {
  const sorted = values.filter((value) => !Number.isNaN(value)).sort();
  const bounds = Array.from(
    { length: QUANTILES - 1 },
    (_, i) => sorted[Math.floor(((i + 1) * sorted.length) / QUANTILES)],
  );
  return bounds.filter((bound) => bound !== undefined);
}

/** tf-idf weights. The features beyond the most frequent ones are hashed into shared columns by their rank. */
function weighed(ofItem: readonly ReadonlySet<number>[], attributeOf: readonly number[]): SparseWeights {
  const frequency = new Float64Array(attributeOf.length);
  for (const features of ofItem) for (const feature of features) frequency[feature]!++;
  const kept = [...attributeOf.keys()]
    .filter((feature) => frequency[feature]! >= ITEMS_MIN && frequency[feature]! < ofItem.length)
    .sort((a, b) => frequency[b]! - frequency[a]! || a - b);
  const columnOf = new Map(kept.map((feature, rank) => [feature, columnOfRank(rank)]));
  const start = new Uint32Array(ofItem.length + 1);
  const columns: number[] = [];
  const values: number[] = [];
  for (const [item, features] of ofItem.entries()) {
    const weights = new Map<number, number>();
    const squares = new Map<number, number>(); // by attribute
    const known = [...features].filter((feature) => columnOf.has(feature));
    const idfOf = (feature: number) => Math.log(ofItem.length / frequency[feature]!);
    for (const feature of known) {
      const attribute = attributeOf[feature]!;
      squares.set(attribute, (squares.get(attribute) ?? 0) + idfOf(feature) ** 2);
    }
    for (const feature of known) {
      const column = columnOf.get(feature)!;
      const weight = idfOf(feature) / Math.sqrt(squares.get(attributeOf[feature]!)!);
      weights.set(column, (weights.get(column) ?? 0) + weight);
    }
    const length = Math.hypot(...weights.values());
    for (const column of [...weights.keys()].sort((a, b) => a - b)) {
      columns.push(column);
      values.push(weights.get(column)! / length);
    }
    start[item + 1] = columns.length;
  }
  return {
    kind: "sparse",
    rowCount: ofItem.length,
    columnCount: Math.min(kept.length, OWN_COLUMNS_MAX + SHARED_COLUMNS_MAX),
    start,
    columns: Int32Array.from(columns),
    values: Float32Array.from(values),
  };
}

const columnOfRank = (rank: number): number =>
  rank < OWN_COLUMNS_MAX ? rank : OWN_COLUMNS_MAX + ((rank - OWN_COLUMNS_MAX) % SHARED_COLUMNS_MAX);
