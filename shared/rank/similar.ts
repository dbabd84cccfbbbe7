import { forEachKey } from "../attribute-values.ts";
import type { TableColumn } from "../attributes.ts";
import type { ItemIndex } from "../ids.ts";
import { countOf } from "../packed-strings.ts";
import type { Snapshot } from "../snapshot.ts";
import { describingColumns } from "./attribute-likeness.ts";

const BOOLEAN_KEYS = 3; // missing, false, true

/**
 * Scores of all items by likeness to some items. They come from the model if it has learnt from any of them. Otherwise they come from
 * common attribute values and, for a model that ignores the history, from the users who chose both. Undefined if there is neither.
 */
export async function similarityScores(
  items: readonly ItemIndex[],
  snapshot: Snapshot,
): Promise<Float32Array | undefined> {
  const { similarity, itemCount, historyMax } = snapshot;
  const learnt = items.filter((item) => item < (similarity?.knownCount ?? itemCount)).slice(-historyMax);
  if (snapshot.personalizes !== false && learnt.length > 0) {
    const scores = await snapshot.score({ items: learnt, agesDays: learnt.map(() => 0) });
    similarity?.toLifts(scores);
    return scores;
  }
  const known = snapshot.personalizes === false ? items.filter((item) => item < itemCount) : [];
  const addNeighbours = known.length > 0 ? similarity?.addNeighbours : undefined;
  const scores = sharedWithAny(items, snapshot) ?? (addNeighbours && tableOf(snapshot));
  if (scores) for (const item of known) addNeighbours?.(item, scores);
  const isOther = (item: number) => item < itemCount && !items.includes(item as ItemIndex); // new items move no other item
  return scores?.some((score, item) => score > 0 && isOther(item)) ? scores : undefined;
}

/** The sum of the likenesses to all of the items. */
function sharedWithAny(items: readonly ItemIndex[], snapshot: Snapshot): Float32Array | undefined {
  const [first, ...others] = items.map((item) => sharedValues(item, snapshot));
  for (const other of others) for (let item = 0; item < first!.length; item++) first![item]! += other![item]!;
  return first;
}

/**
 * Likeness of each item to the given one: the cosine of their attribute values, without its division by the length of the given item,
 * which is the same for all. A value weighs the more, the fewer items have it.
 */
function sharedValues(item: ItemIndex, snapshot: Snapshot): Float32Array | undefined {
  const { attributes } = snapshot;
  if (!attributes) return undefined;
  const { itemCount, newCount = 0 } = snapshot;
  const allCount = itemCount + newCount;
  const [shared, squares] = [tableOf(snapshot), tableOf(snapshot)];
  for (const column of describingColumns(attributes)) {
    const itemKeys = new Set<number>();
    forEachKey(column, item, (key) => itemKeys.add(key));
    const weights = weightsOf(column, itemCount);
    for (let other = 0; other < allCount; other++)
      forEachKey(column, other as ItemIndex, (key) => {
        squares[other]! += weights[key]!;
        if (itemKeys.has(key)) shared[other]! += weights[key]!;
      });
  }
  for (let other = 0; other < allCount; other++) if (shared[other]! > 0) shared[other]! /= Math.sqrt(squares[other]!);
  return shared;
}

function tableOf({ itemCount, newCount = 0, onTable }: Snapshot): Float32Array {
  const table = new Float32Array(itemCount + newCount);
  onTable?.(table);
  return table;
}

/**
 * The square of the weight of each key: a value that all items have weighs nothing. New items do not count, so that they move no other
 * item's score. A value that only they have weighs as much as one of a single item.
 */
const weightsOf = (column: TableColumn, itemCount: number): Float64Array =>
  Float64Array.from(valueCounts(column, itemCount), (count) => Math.log(itemCount / Math.max(1, count)) ** 2);

/** Counted once for each column. A column with changed values is another one. */
const countsOf = new WeakMap<TableColumn, Uint32Array>();

/** How many of the first `itemCount` items have each key. */
export function valueCounts(column: TableColumn, itemCount: number): Uint32Array {
  const known = countsOf.get(column);
  if (known) return known;
  const counts = new Uint32Array("dictionary" in column ? countOf(column.dictionary) + 1 : BOOLEAN_KEYS);
  for (let item = 0; item < itemCount; item++) forEachKey(column, item as ItemIndex, (key) => void counts[key]!++);
  countsOf.set(column, counts);
  return counts;
}
