import type { Histories } from "../statistics/histories.ts";

/** Windows of histories, side by side. Row r's cells are r · length … r · length + its window's size − 1, then padding. */
export type SequenceBatch = {
  readonly rowCount: number;
  readonly length: number;
  readonly items: Int32Array<ArrayBuffer>; // [rowCount * length] oldest first, padded with 0
  /** The cells that are no padding, ascending. */
  readonly cells: Int32Array<ArrayBuffer>; // [cellCount]
  /** Where each cell stands in `cells`; cellCount for padding. */
  readonly inverse: Int32Array<ArrayBuffer>; // [rowCount * length]
  /** What followed each of `cells`. */
  readonly targets: Int32Array<ArrayBuffer>; // [cellCount]
};

export type Window = { readonly first: number; readonly size: number };

export type EpochOptions = {
  /** Entries of a window at most. */
  readonly length: number;
  /** A batch is padded to so many, where its windows are shorter. */
  readonly lengthLeast?: number;
  /** Cells of a batch at most, padding included; one row at least. */
  readonly cellsMax: number;
  readonly random: () => number;
};

/**
 * One window of each history, grouped by size so that little is padding, in random order. A history longer than a window
 * gives its newest part every other time, else a part at a random place.
 *
 * @param ends Position after the last entry of each user's history that may be learnt from.
 */
export function* epochBatches(
  { start, items }: Histories,
  ends: Uint32Array,
  { length, lengthLeast = 1, cellsMax, random }: EpochOptions,
): Generator<SequenceBatch> {
  const windows = Array.from(ends, (end, user) => windowOf({ first: start[user]!, end }, length, random));
  const bySize = shuffled(
    windows.filter(({ size }) => size > 0),
    random,
  ).sort((a, b) => a.size - b.size);
  const groups: Window[][] = [];
  for (let from = 0; from < bySize.length; ) {
    let to = from + 1;
    while (to < bySize.length && (to + 1 - from) * Math.max(lengthLeast, bySize[to]!.size) <= cellsMax) to++;
    groups.push(bySize.slice(from, to));
    from = to;
  }
  for (const group of shuffled(groups, random)) yield sequenceBatch(items, group, lengthLeast);
}

/** The batch of given windows; the entry after each window's end is its last target. */
export function sequenceBatch(entries: Int32Array, windows: readonly Window[], lengthLeast = 1): SequenceBatch {
  const rowCount = windows.length;
  const length = Math.max(lengthLeast, ...windows.map(({ size }) => size));
  const cellCount = windows.reduce((sum, { size }) => sum + size, 0);
  const items = new Int32Array(rowCount * length);
  const inverse = new Int32Array(rowCount * length).fill(cellCount);
  const cells = new Int32Array(cellCount);
  const targets = new Int32Array(cellCount);
  let at = 0;
  for (const [row, { first, size }] of windows.entries()) {
    items.set(entries.subarray(first, first + size), row * length);
    for (let i = 0; i < size; i++, at++) {
      cells[at] = row * length + i;
      inverse[row * length + i] = at;
      targets[at] = entries[first + i + 1]!;
    }
  }
  return { rowCount, length, items, cells, inverse, targets };
}

function windowOf({ first, end }: { first: number; end: number }, length: number, random: () => number): Window {
  const pairs = end - first - 1;
  if (pairs <= length) return { first, size: Math.max(0, pairs) };
  const newest = end - 1 - length;
  return { first: random() < 0.5 ? newest : first + Math.floor(random() * (newest - first + 1)), size: length };
}

/** A copy in random order (Fisher and Yates). */
export function shuffled<Value>(values: readonly Value[], random: () => number): Value[] {
  const copy = [...values];
  for (let i = copy.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [copy[i], copy[j]] = [copy[j]!, copy[i]!];
  }
  return copy;
}
