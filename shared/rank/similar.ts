import { forEachKey } from "../attribute-values.ts";
import type { AttributeTable } from "../attributes.ts";
import type { ItemIndex } from "../ids.ts";
import type { Snapshot } from "../snapshot.ts";
import { describingColumns } from "./attribute-likeness.ts";

/**
 * Scores of all items by likeness to one item. The model decides if it has learnt from the item, else the attributes that both have.
 * Undefined if neither can tell.
 */
export async function similarityScores(item: ItemIndex, snapshot: Snapshot): Promise<Float32Array | undefined> {
  const { attributes, similarity, itemCount } = snapshot;
  if (snapshot.personalizes !== false && item < (similarity?.knownCount ?? itemCount)) {
    const scores = await snapshot.score({ items: [item], agesDays: [0] });
    similarity?.toLifts(scores);
    return scores;
  }
  const scores = attributes && sharedValues(item, attributes);
  if (scores) snapshot.onTable?.(scores);
  return scores?.some((score) => score > 0) ? scores : undefined;
}

/**
 * The sum of the weights of the values that an item shares with each other item. A value weighs the more, the fewer items have it. An
 * element of a list weighs less in a longer list.
 */
function sharedValues(item: ItemIndex, table: AttributeTable): Float32Array {
  const scores = new Float32Array(table.itemCount);
  for (const column of describingColumns(table)) {
    const own = new Map<number, number>(); // number of items by value
    forEachKey(column, item, (key) => own.set(key, 0));
    if (own.size === 0) continue;
    const forEachShared = (visit: (other: number, key: number) => void) => {
      for (let other = 0; other < table.itemCount; other++)
        forEachKey(column, other as ItemIndex, (key) => own.has(key) && visit(other, key));
    };
    forEachShared((_, key) => own.set(key, own.get(key)! + 1));
    forEachShared((other, key) => {
      const length = column.type === "CategoryList" ? column.start[other + 1]! - column.start[other]! : 1;
      scores[other]! += Math.log(table.itemCount / own.get(key)!) / Math.sqrt(length);
    });
  }
  return scores;
}
