import type { SequenceBatch } from "./batches.ts";
import type { Candidates } from "./candidates.ts";

/**
 * The places, in the [cells, candidates] scores of a batch, of items that do not compete for a cell's target: those of the same window.
 * Earlier ones are never ranked, because they were seen, and later ones are chosen too. A target competes even if its window has it twice.
 */
export function ownRivals(itemCount: number): (batch: SequenceBatch, candidates: Candidates) => Int32Array {
  const placeOf = new Int32Array(itemCount).fill(-1);
  return ({ rowCount, length, items, cells, inverse, targets }, { indices }) => {
    for (const [place, item] of indices.entries()) placeOf[item] = place;
    const found = new Int32Array(cells.length * length);
    let count = 0;
    for (let row = 0; row < rowCount; row++) {
      const first = inverse[row * length]!;
      let size = 0;
      while (size < length && inverse[row * length + size]! < cells.length) size++;
      const own = items.subarray(row * length, row * length + size).filter((item) => placeOf[item]! >= 0);
      for (let cell = first; cell < first + size; cell++) {
        for (const item of own) if (item !== targets[cell]) found[count++] = cell * indices.length + placeOf[item]!;
      }
    }
    for (const item of indices) placeOf[item] = -1;
    return found.slice(0, count);
  };
}
