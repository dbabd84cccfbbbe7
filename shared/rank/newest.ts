/** Scores of the newest items. */
import type { ItemIndex } from "../ids.ts";
import { Problem } from "../problem.ts";
import type { KnownNames, Snapshot } from "../snapshot.ts";
import { numbersOf } from "./column-numbers.ts";

/** Items without a time come last. A thousand years, in seconds. */
const NO_TIME = -3e10;

/** The times of items in epoch seconds; NaN for an item without one. Throws Problem invalid_parameter if the version has no times. */
export function timesOfItems({ attributes, itemCreatedAt, version }: KnownNames): (item: ItemIndex) => number {
  const column = itemCreatedAt === undefined ? undefined : attributes?.columns.get(itemCreatedAt);
  if (column === undefined || !("form" in column)) {
    const message = `cannot be newest: the version ${version} has no times of items, which schema.item.created_at names`;
    throw new Problem("invalid_parameter", `/strategy ${message}.`, {
      errors: [{ pointer: "/strategy", code: "invalid_parameter", message }],
    });
  }
  return numbersOf(column);
}

/** The negative age in seconds, so that 32 bits tell the newest items apart best. Throws Problem invalid_parameter. */
export function newestScores(snapshot: Snapshot, nowSeconds: number): Float32Array {
  const { itemCount, newCount = 0 } = snapshot;
  const timeOf = timesOfItems(snapshot);
  const scores = new Float32Array(itemCount + newCount);
  for (let item = 0; item < scores.length; item++) {
    const time = timeOf(item as ItemIndex);
    scores[item] = Number.isNaN(time) ? NO_TIME : time - nowSeconds;
  }
  return scores;
}
