import { forEachKey } from "../attribute-values.ts";
import type { TableColumn } from "../attributes.ts";
import type { ItemIndex } from "../ids.ts";
import { countOf } from "../packed-strings.ts";
import type { Snapshot } from "../snapshot.ts";
import { describingColumns } from "./attribute-likeness.ts";

const BOOLEAN_KEYS = 3; // missing, false, true

/**
 * Scores of all items by likeness to one item. The model decides if it has learnt from the item, else the attributes that both have.
 * Undefined if neither can tell.
 */
export async function similarityScores(item: ItemIndex, snapshot: Snapshot): Promise<Float32Array | undefined> {
  const { similarity, itemCount } = snapshot;
  if (snapshot.personalizes !== false && item < (similarity?.knownCount ?? itemCount)) {
    const scores = await snapshot.score({ items: [item], agesDays: [0] });
    similarity?.toLifts(scores);
    return scores;
  }
  const scores = sharedValues(item, snapshot);
  return scores?.some((score) => score > 0) ? scores : undefined;
}

/**
 * Cosine of the attribute values of one item and each other item, but for the length of the one. A value weighs the more, the fewer items
 * have it.
 */
function sharedValues(item: ItemIndex, { attributes, onTable }: Snapshot): Float32Array | undefined {
  if (!attributes) return undefined;
  const { itemCount } = attributes;
  const [shared, squares] = [new Float32Array(itemCount), new Float32Array(itemCount)];
  onTable?.(shared);
  onTable?.(squares);
  for (const column of describingColumns(attributes)) {
    const own = new Set<number>();
    forEachKey(column, item, (key) => own.add(key));
    const weights = weightsOf(column, itemCount);
    for (let other = 0; other < itemCount; other++)
      forEachKey(column, other as ItemIndex, (key) => {
        squares[other]! += weights[key]!;
        if (own.has(key)) shared[other]! += weights[key]!;
      });
  }
  for (let other = 0; other < itemCount; other++) if (shared[other]! > 0) shared[other]! /= Math.sqrt(squares[other]!);
  return shared;
}

/** The square of the weight of each key: a value that all items have weighs nothing. */
function weightsOf(column: TableColumn, itemCount: number): Float64Array {
  const counts = new Float64Array("dictionary" in column ? countOf(column.dictionary) + 1 : BOOLEAN_KEYS);
  for (let item = 0; item < itemCount; item++) forEachKey(column, item as ItemIndex, (key) => void counts[key]!++);
  return counts.map((count) => Math.log(itemCount / count) ** 2);
}
