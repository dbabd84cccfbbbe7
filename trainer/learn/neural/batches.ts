import type { Histories } from "../statistics/histories.ts";

/** Windows of histories, one per row. Row r's window begins at cell r · length; padding fills the rest of the row. */
export type SequenceBatch = {
  readonly rowCount: number;
  /** Cells of a row: the size of the largest window. */
  readonly length: number;
  /** Oldest entry first; padding is 0. */
  readonly items: Int32Array<ArrayBuffer>; // [rowCount * length]
  /** The cells that hold an entry, ascending. */
  readonly cells: Int32Array<ArrayBuffer>; // [cellCount]
  /** The place of each cell in `cells`; cellCount for padding. */
  readonly inverse: Int32Array<ArrayBuffer>; // [rowCount * length]
  /** The entry that follows each cell of `cells`. */
  readonly targets: Int32Array<ArrayBuffer>; // [cellCount]
};

/** `size` successive entries, from position `first` on. */
export type Window = { readonly first: number; readonly size: number };

export type EpochOptions = {
  /** Largest size of a window. */
  readonly length: number;
  /** Largest number of cells of a batch, padding included. A batch has at least one row. */
  readonly cellsMax: number;
  readonly random: () => number;
};

/**
 * One window of each history, in batches of windows of similar size, so that there is little padding. Both the batches and
 * the windows of equal size are in random order. A history longer than a window gives its newest part with probability 1/2,
 * else a part at a random place.
 *
 * @param ends Position after the last entry of each user's history that may be learnt from.
 */
export function* epochBatches(
  { start, items }: Histories,
  ends: Uint32Array,
  { length, cellsMax, random }: EpochOptions,
): Generator<SequenceBatch> {
  const windows = Array.from(ends, (end, user) => windowOf({ first: start[user]!, end }, length, random));
  const bySize = shuffled(
    windows.filter(({ size }) => size > 0),
    random,
  ).sort((a, b) => a.size - b.size);
  const groups = groupsWhere(bySize, (count, { size }) => count * size <= cellsMax);
  for (const group of shuffled(groups, random)) yield sequenceBatch(items, group);
}

/** Cuts values into groups that are as large as `fits` allows for the count and the last value. At least one value each. */
export function groupsWhere<Value>(values: readonly Value[], fits: (count: number, last: Value) => boolean): Value[][] {
  const groups: Value[][] = [];
  for (let from = 0; from < values.length; ) {
    let to = from + 1;
    while (to < values.length && fits(to + 1 - from, values[to]!)) to++;
    groups.push(values.slice(from, to));
    from = to;
  }
  return groups;
}

/** The batch of the given windows. The entry after the end of a window is its last target. */
export function sequenceBatch(entries: Int32Array, windows: readonly Window[]): SequenceBatch {
  const rowCount = windows.length;
  const length = Math.max(1, ...windows.map(({ size }) => size));
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

/** The rows of a batch in parts of about as many rows, at most `count`. */
export function partsOfBatch(batch: SequenceBatch, count: number): SequenceBatch[] {
  const bounds = evenBounds(batch.rowCount, count);
  return bounds.slice(1).map((to, i) => rowsBetween(batch, bounds[i]!, to));
}

/** 0, …, count: where parts of about the same size begin and end. */
export const evenBounds = (count: number, partCount: number): number[] => {
  const parts = Math.max(1, Math.min(count, partCount));
  return Array.from({ length: parts + 1 }, (_, i) => Math.round((i * count) / parts));
};

function rowsBetween({ rowCount, length, ...batch }: SequenceBatch, from: number, to: number): SequenceBatch {
  const [begin, end] = [from * length, to * length];
  const first = batch.inverse[begin]!;
  const next = to === rowCount ? batch.cells.length : batch.inverse[end]!;
  return {
    rowCount: to - from,
    length,
    items: batch.items.slice(begin, end),
    cells: batch.cells.slice(first, next).map((cell) => cell - begin),
    inverse: batch.inverse.slice(begin, end).map((place) => Math.min(place, next) - first),
    targets: batch.targets.slice(first, next),
  };
}

function windowOf({ first, end }: { first: number; end: number }, length: number, random: () => number): Window {
  const pairs = end - first - 1;
  if (pairs <= length) return { first, size: Math.max(0, pairs) };
  const newest = end - 1 - length;
  return { first: random() < 0.5 ? newest : first + Math.floor(random() * (newest - first + 1)), size: length };
}

/**
 * A copy of the entries in which those of the same second are in random order, up to each user's end. Their order in the data is random too
 * (read-interactions.ts), and a network must not learn one of them by heart (LOG.md, "Equal times in random order"). A history of a single
 * second keeps its order, because files without times are read as such.
 */
export function tiesShuffled(
  { start, items }: Histories,
  ends: Uint32Array,
  { times, random }: { readonly times: ArrayLike<number>; readonly random: () => number },
): Int32Array {
  const copy = items.slice();
  for (const [user, end] of ends.entries()) {
    if (times[start[user]!] === times[end - 1]) continue;
    for (let first = start[user]!, next = first; first < end; first = next) {
      while (next < end && times[next] === times[first]) next++;
      shuffle(copy, { first, end: next }, random);
    }
  }
  return copy;
}

/** A copy in random order. */
export function shuffled<Value>(values: readonly Value[], random: () => number): Value[] {
  const copy = [...values];
  shuffle(copy, { first: 0, end: copy.length }, random);
  return copy;
}

/** Brings the values from `first` to before `end` into random order, in place (Fisher and Yates). */
function shuffle<Value>(
  values: { [at: number]: Value },
  { first, end }: { readonly first: number; readonly end: number },
  random: () => number,
): void {
  for (let i = end - 1; i > first; i--) {
    const j = first + Math.floor(random() * (i - first + 1));
    [values[i], values[j]] = [values[j]!, values[i]!];
  }
}
