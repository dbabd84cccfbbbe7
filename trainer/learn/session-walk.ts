import { fittedLinear } from "./linear/linear-export.ts";
import { type Method, reportProgress, type TrainingData } from "./model.ts";
import { positiveHistories, timesChosen } from "./statistics/histories.ts";
import { sequentialStatistics } from "./statistics/sequential-statistics.ts";
import { addTo, clearRow, type RowSum, rowSum } from "./weights/row-sum.ts";
import { largestColumns, sparseBuilder } from "./weights/sparse-builder.ts";
import type { SparseWeights } from "./weights/weight-matrix.ts";

export type SessionWalkParams = {
  /** A pair of clicks `gap` entries apart counts e^(−(gap − 1) / gapScale). */
  readonly gapScale: number;
  /** Weight of the pairs read backwards. */
  readonly reversed: number;
  /** Clicks added to an item's number of clicks: rare items transfer less of their weight. */
  readonly shrinkage: number;
  /** Weight of an entry's own item, which may be clicked again; the weight of the walk that begins there is 1. */
  readonly again: number;
  /** Decay of that weight: e^(−position / againScale). */
  readonly againScale: number;
  /** Probability of a further step. */
  readonly proceed: number;
  /** The walk that begins at a history entry has the weight e^(−position / recentScale). */
  readonly recentScale: number;
};

const FIRST: SessionWalkParams = {
  gapScale: 2,
  reversed: 0.8,
  shrinkage: 3,
  again: 1.2,
  againScale: 8,
  proceed: 0.5,
  recentScale: 2,
};

/** Entries of a history between two clicks of a pair, and entries that are read when scoring. */
const WINDOW = 12;
const HISTORY_MAX = 50;
/** Steps of the walk after the first. Further steps moved HR@20 by less than .002. */
const STEPS = 2;
/** Largest entries of a row of A, and of the weight that walks on. */
const WALKING_MAX = 100;
/** Largest entries of a row of M. Bounds the memory to about 500 MB. */
const rowMax = (itemCount: number) => Math.max(50, Math.min(200, Math.floor(4e7 / itemCount)));
/** Newest entries of a history that are counted. */
const NEWEST = 1000;

/**
 * Computes M = A · Σ_k (proceed · A)^k for k ≤ 2, where A_ij is the decayed number of clicks on j near clicks on i in a history, divided
 * by the clicks on i plus a shrinkage. Scores are a decayed sum of M's rows and of the history's items themselves. This is S-Walk (Choi
 * et al. 2022) with shrunk counts in place of its two ridges, which ranked no better (LOG.md, "Sessions").
 * Wins: sessions in which items are clicked again. Cost: linear in items · kept entries · entries per row.
 */
export const sessionWalk: Method<SessionWalkParams> = {
  name: "session_walk",
  readsOrder: true,
  grid: () => [
    FIRST,
    { ...FIRST, recentScale: 1 },
    { ...FIRST, shrinkage: 10, again: 0.8 },
    { ...FIRST, shrinkage: 1, proceed: 0.7 },
  ],
  cost(data) {
    const { itemCount, items, userCount } = data;
    const met = 2 * Math.min(WINDOW, items.length / Math.max(1, userCount));
    const perRow = Math.min(itemCount, rowMax(itemCount), (met * items.length) / Math.max(1, itemCount));
    const walked = itemCount * Math.min(rowMax(itemCount), perRow ** 2) * perRow;
    return {
      seconds: 0.01 + 1e-4 * itemCount + 5e-9 * (met * items.length + STEPS * walked),
      memoryMb: 50 + (itemCount * (8 * perRow + 16 * rowMax(itemCount)) + 40 * items.length) / 1e6,
    };
  },
  async fit(data, params, context) {
    const { itemCount } = data;
    const transitions = await transitionsOf(data, params, (fraction) =>
      reportProgress(context, 0.2 * fraction, "counting pairs of clicks"),
    );
    const matrix = await walked(transitions, params, (fraction) =>
      reportProgress(context, 0.2 + 0.8 * fraction, "walking from each item"),
    );
    const termOf = (scale: number, matrix: SparseWeights) => {
      return { weighting: { distinct: false, scale, window: HISTORY_MAX }, matrix };
    };
    const terms = [termOf(params.recentScale, matrix), termOf(params.againScale, diagonal(itemCount, params.again))];
    return fittedLinear("session_walk", params, { itemCount, terms, uses: timesChosen(data) });
  },
};

/** A: sparse rows of items, each with a sum of about 1 or less. */
async function transitionsOf(
  data: TrainingData,
  { gapScale, reversed, shrinkage }: SessionWalkParams,
  afterRows: (fraction: number) => Promise<void>,
): Promise<SparseWeights> {
  const { itemCount } = data;
  const decay = { scale: gapScale, window: WINDOW };
  const statistics = sequentialStatistics(positiveHistories(data, NEWEST), [decay], reversed);
  const clicks = timesChosen(data);
  const builder = sparseBuilder(itemCount, itemCount);
  const row = rowSum(itemCount);
  for (let item = 0; item < itemCount; item++) {
    statistics.addTargets(item, row);
    addLargest(builder, row, WALKING_MAX, 1 / (clicks[item]! + shrinkage));
    if (item % 256 === 0) await afterRows(item / itemCount);
  }
  return builder.build();
}

/** M, row by row: after each step the row's largest entries walk on, and the row of the first step is added again. */
async function walked(
  transitions: SparseWeights,
  { proceed }: SessionWalkParams,
  afterRows: (fraction: number) => Promise<void>,
): Promise<SparseWeights> {
  const { rowCount } = transitions;
  const keep = rowMax(rowCount);
  const builder = sparseBuilder(rowCount, rowCount);
  const [begin, from, to] = [rowSum(rowCount), rowSum(rowCount), rowSum(rowCount)];
  for (let item = 0; item < rowCount; item++) {
    addScaled(transitions, item, 1, begin);
    copyLargest(begin, begin.count, from);
    for (let step = 0; step < STEPS; step++) {
      copyLargest(begin, begin.count, to);
      for (let i = 0; i < from.count; i++) {
        const column = from.touched[i]!;
        addScaled(transitions, column, proceed * from.values[column]!, to);
      }
      clearRow(from);
      copyLargest(to, step < STEPS - 1 ? WALKING_MAX : keep, from);
      clearRow(to);
    }
    addLargest(builder, from, keep, 1);
    clearRow(from);
    clearRow(begin);
    if (item % 256 === 0) await afterRows(item / rowCount);
  }
  return builder.build();
}

function diagonal(size: number, value: number): SparseWeights {
  return {
    kind: "sparse",
    rowCount: size,
    columnCount: size,
    start: Uint32Array.from({ length: size + 1 }, (_, row) => row),
    columns: Int32Array.from({ length: size }, (_, row) => row),
    values: new Float32Array(size).fill(value),
  };
}

function addScaled({ start, columns, values }: SparseWeights, row: number, factor: number, into: RowSum): void {
  for (let at = start[row]!; at < start[row + 1]!; at++) addTo(into, columns[at]!, factor * values[at]!);
}

function copyLargest(row: RowSum, keep: number, into: RowSum): void {
  for (const column of largestColumns(row, keep, (one) => row.values[one]!)) addTo(into, column, row.values[column]!);
}

/** Closes a row of the builder with the row's largest entries, and clears the row. */
function addLargest(builder: ReturnType<typeof sparseBuilder>, row: RowSum, keep: number, factor: number): void {
  for (const column of largestColumns(row, keep, (one) => row.values[one]!))
    builder.add(column, factor * row.values[column]!);
  builder.endRow();
  clearRow(row);
}
