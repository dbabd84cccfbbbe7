import type { ItemIndex } from "../ids.ts";
import type { SparseRecipe } from "../score-recipe.ts";
import type { ScoreSums } from "./catalog-moments.ts";
import type { RecipeFiles } from "./recipe-files.ts";

const ROWS_PER_BLOCK = 64;
/** Most entries of sparse rows that are added up for the sums over the catalog: 6 MB of numbers. */
const ENTRIES_MAX = 100_000;
/** Histories that are added up at once. */
const HISTORIES_AT_ONCE = 8;

/** A row of the sparse matrix, and its weight in each history. */
export type SparseRow = { readonly row: number; readonly weights: Float64Array };
/** By history, then by item. */
export type Scored = { readonly items: readonly ItemIndex[]; readonly scores: readonly Float64Array[] };

/** Adds the rows' entries that stand at the items. */
export function addSparse(rows: readonly SparseRow[], reader: SparseReader, { items, scores }: Scored): void {
  const placeOf = new Map(items.map((item, k) => [item as number, k]));
  for (const { row, weights } of rows)
    for (let at = reader.begin(row), end = reader.end(row); at < end; at++) {
      const k = placeOf.get(reader.column(at));
      if (k === undefined) continue;
      const value = reader.value(at);
      for (const [g, ofHistory] of scores.entries()) ofHistory[k]! += weights[g]! * value;
    }
}

/** The bias of an item, and the sums over the catalog. */
export type Bias = { readonly of: (item: number) => number; readonly sums: ScoreSums };

/**
 * The same, with the sums over the catalog: the scores of all items that the rows reach are added up, some histories at a time. Undefined
 * if the rows have too many entries for that.
 */
export function addSparseWithSums(
  rows: readonly SparseRow[],
  reader: SparseReader,
  { items, scores, bias }: Scored & { readonly bias: Bias | undefined },
): ScoreSums[] | undefined {
  const entries = entriesOf(rows, reader, items);
  if (!entries) return undefined;
  const { columns, slotOfItem } = entries;
  const biases = bias && Float64Array.from(columns, bias.of);
  const sums: ScoreSums[] = [];
  const reached = new Float64Array(columns.length * HISTORIES_AT_ONCE);
  for (let first = 0; first < scores.length; first += HISTORIES_AT_ONCE) {
    const some = scores.slice(first, first + HISTORIES_AT_ONCE);
    addEntries(entries, { first, count: some.length }, reached);
    for (const [g, ofHistory] of some.entries()) {
      for (const [k, slot] of slotOfItem.entries()) ofHistory[k]! += reached[slot * HISTORIES_AT_ONCE + g]!;
      let { sum, squares } = bias?.sums ?? { sum: 0, squares: 0 };
      for (let slot = 0; slot < columns.length; slot++) {
        const added = reached[slot * HISTORIES_AT_ONCE + g]!;
        sum += added;
        squares += added * (added + (biases ? 2 * biases[slot]! : 0));
      }
      sums.push({ sum, squares });
    }
  }
  return sums;
}

/** The entries of all rows, with a slot for each different column. */
type Entries = {
  readonly rows: readonly (SparseRow & { readonly end: number })[];
  readonly slots: Int32Array; // [entries]
  readonly values: Float64Array; // [entries]
  /** The column of each slot. */
  readonly columns: Int32Array;
  readonly slotOfItem: readonly number[];
};

function entriesOf(rows: readonly SparseRow[], reader: SparseReader, items: readonly ItemIndex[]): Entries | undefined {
  const count = rows.reduce((total, { row }) => total + reader.end(row) - reader.begin(row), 0);
  if (count > ENTRIES_MAX) return undefined;
  const numbers = slotNumbers(count + items.length);
  const slotOfItem = items.map(numbers.slotOf);
  const [slots, values] = [new Int32Array(count), new Float64Array(count)];
  let entry = 0;
  const withEnds = rows.map((one) => {
    for (let at = reader.begin(one.row), end = reader.end(one.row); at < end; at++) {
      slots[entry] = numbers.slotOf(reader.column(at));
      values[entry++] = reader.value(at);
    }
    return { ...one, end: entry };
  });
  return { rows: withEnds, slots, values, columns: numbers.keys(), slotOfItem };
}

/** Sums the entries into `reached` [slots, HISTORIES_AT_ONCE] for the histories from `first` on. */
function addEntries(
  { rows, slots, values }: Entries,
  { first, count }: { readonly first: number; readonly count: number },
  reached: Float64Array,
): void {
  reached.fill(0);
  let entry = 0;
  for (const { weights, end } of rows)
    for (; entry < end; entry++) {
      const [value, place] = [values[entry]!, slots[entry]! * HISTORIES_AT_ONCE];
      for (let g = 0; g < count; g++) reached[place + g]! += weights[first + g]! * value;
    }
}

/** Numbers different keys from 0 on, in the order of their first use: a hash table with open addressing. */
function slotNumbers(keysMax: number) {
  const size = 2 ** Math.ceil(Math.log2(2 * Math.max(1, keysMax)));
  const slotAt = new Int32Array(size).fill(-1);
  const keys = new Int32Array(keysMax);
  let count = 0;
  return {
    slotOf(key: number): number {
      let at = Math.imul(key, 0x9e3779b1) & (size - 1);
      for (let slot = slotAt[at]!; slot >= 0; slot = slotAt[at]!) {
        if (keys[slot] === key) return slot;
        at = (at + 1) & (size - 1);
      }
      keys[count] = key;
      slotAt[at] = count;
      return count++;
    },
    keys: () => keys.subarray(0, count),
  };
}

export type SparseReader = {
  readonly begin: (row: number) => number;
  readonly end: (row: number) => number;
  readonly column: (at: number) => number;
  readonly value: (at: number) => number;
};

export function sparseReader({ blocks, offsets, entries }: SparseRecipe, files: RecipeFiles): SparseReader {
  const [blockStart, offset] = [files.int32(blocks), files.uint16(offsets)];
  const begin = (row: number) => blockStart[Math.floor(row / ROWS_PER_BLOCK)]! + offset[row]!;
  const rows = { begin, end: (row: number) => begin(row + 1) };
  if (entries.kind === "exact") {
    const columns = entries.column_type === "int32" ? files.int32(entries.columns) : files.uint16(entries.columns);
    const values = files.float32(entries.values);
    return { ...rows, column: (at) => columns[at]!, value: (at) => values[at]! };
  }
  const [low, codes] = [files.uint16(entries.low), files.uint8(entries.codes)];
  const [levels, highs] = [files.float32(entries.levels), files.int32(entries.highs)];
  return { ...rows, column: (at) => low[at]! + highs[codes[at]!]!, value: (at) => levels[codes[at]!]! };
}
