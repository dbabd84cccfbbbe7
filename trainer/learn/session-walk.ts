import { fittedLinear } from "./linear/linear-export.ts";
import { type Method, reportProgress, type TrainingData } from "./model.ts";
import { popularityWithRecency } from "./popularity.ts";
import {
  countItems,
  positiveHistories,
  positiveTimes,
  timesChosen,
  withoutImmediateRepeats,
} from "./statistics/histories.ts";
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
  /** Factor of that weight for the newest entry, which is less often clicked again; absent: 1. */
  readonly againNewest?: number;
  /** Probability of a further step. */
  readonly proceed: number;
  /** The walk that begins at a history entry has the weight e^(−position / recentScale). */
  readonly recentScale: number;
  /** Power of the walk's weights, at most 1: items that several entries lead to gain; absent: 1. */
  readonly power?: number;
  /** Power of an item's recent clicks in its score; absent: 0. */
  readonly trend?: number;
  /** An item's score is divided by its number of clicks to this power; absent: 0. */
  readonly rarity?: number;
};

/** The best of one data set's newest training sessions (LOG.md, "Flatter session walks"). */
const FIRST: SessionWalkParams = {
  gapScale: 1.5,
  reversed: 0.8,
  shrinkage: 2,
  again: 3,
  againScale: 4,
  againNewest: 0.5,
  proceed: 0.7,
  recentScale: 2,
  power: 0.5,
  trend: 0.3,
  rarity: 0.4,
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
/** Clicks added to each item's clicks, recent or all, before their powers are taken. */
const CLICKS_PRIOR = 10;

/**
 * Computes M = A · Σ_k (proceed · A)^k for k ≤ 2, where A_ij is the decayed number of clicks on j near clicks on i in a history, divided
 * by the clicks on i plus a shrinkage. A click that only repeats the one before it is not counted. Scores are a decayed sum of rows of
 * M^power, taken element by element, times a factor of each item that grows with its recent clicks and falls with all its clicks; and a
 * decayed sum of the history's items themselves. This is S-Walk (Choi et al. 2022) with shrunk counts in place of its two ridges, which
 * ranked no better (LOG.md, "Sessions").
 * Wins: sessions in which items are clicked again. Cost: linear in items · kept entries · entries per row.
 */
export const sessionWalk: Method<SessionWalkParams> = {
  name: "session_walk",
  reads: "session",
  grid: () => [
    FIRST,
    { ...FIRST, trend: 0, rarity: 0.1 },
    { ...FIRST, recentScale: 1, gapScale: 1, proceed: 0.5 },
    { ...FIRST, again: 1, againNewest: 1 },
    { ...FIRST, power: 0.7, shrinkage: 10 },
    { ...FIRST, trend: 0.2, rarity: 0.5 },
  ],
  cost(data) {
    const { itemCount, items, userCount } = data;
    const met = 2 * Math.min(WINDOW, items.length / Math.max(1, userCount));
    const perRow = Math.min(itemCount, rowMax(itemCount), (met * items.length) / Math.max(1, itemCount));
    const walked = itemCount * Math.min(rowMax(itemCount), perRow ** 2) * perRow;
    return {
      seconds: 0.01 + 1e-4 * itemCount + 5e-9 * (met * items.length + STEPS * walked),
      memoryMb: 50 + (itemCount * (8 * perRow + 10 * rowMax(itemCount)) + 40 * items.length) / 1e6,
      heldMb: 20 + (8 * itemCount * rowMax(itemCount)) / 1e6,
    };
  },
  async fit(data, params, context) {
    const { itemCount } = data;
    const transitions = await transitionsOf(data, params, (fraction) =>
      reportProgress(context, 0.2 * fraction, "counting pairs of clicks"),
    );
    const { proceed, power = 1 } = params;
    const factors = itemFactors(data, params);
    const weightOf = (walk: number, item: number) => walk ** power * factors[item]!;
    const matrix = await walked(transitions, { proceed, weightOf }, (fraction) =>
      reportProgress(context, 0.2 + 0.8 * fraction, "walking from each item"),
    );
    const { recentScale, again, againScale, againNewest = 1 } = params;
    const repeats = (window: number, scale: number, weight: number) => ({
      weighting: { distinct: false, scale, window },
      matrix: diagonal(itemCount, weight),
    });
    const terms = [
      { weighting: { distinct: true, scale: recentScale, window: HISTORY_MAX }, matrix },
      repeats(HISTORY_MAX, againScale, again),
      ...(againNewest === 1 ? [] : [repeats(1, againScale, (againNewest - 1) * again)]),
    ];
    return fittedLinear("session_walk", params, { itemCount, terms, uses: timesChosen(data) });
  },
};

/** Half-life of a recent click relative to the time since the median click: a tenth of all time if clicks are spread evenly. */
const HALF_LIFE = 0.2;

/** Each item's factor of its scores. Without differences in time all clicks are recent. Float64Array(itemCount) */
function itemFactors(data: TrainingData, { trend = 0, rarity = 0 }: SessionWalkParams): Float64Array {
  const times = positiveTimes(data).sort();
  const sinceMedian = (times.at(-1) ?? 0) - (times[times.length >> 1] ?? 0);
  const recent = popularityWithRecency(data, (HALF_LIFE * sinceMedian) / 86_400);
  const toAll = times.length / recent.reduce((sum, count) => sum + count, 0) || 1;
  const clicks = timesChosen(data);
  return recent.map(
    (count, item) => (toAll * count + CLICKS_PRIOR) ** trend / (clicks[item]! + CLICKS_PRIOR) ** rarity,
  );
}

/** A: sparse rows of items, each with a sum of about 1 or less. */
async function transitionsOf(
  data: TrainingData,
  { gapScale, reversed, shrinkage }: SessionWalkParams,
  afterRows: (fraction: number) => Promise<void>,
): Promise<SparseWeights> {
  const { itemCount } = data;
  const decay = { scale: gapScale, window: WINDOW };
  const histories = withoutImmediateRepeats(positiveHistories(data, NEWEST));
  const statistics = sequentialStatistics(histories, [decay], reversed);
  const clicks = countItems(histories);
  const builder = sparseBuilder(itemCount, itemCount);
  const row = rowSum(itemCount);
  for (let item = 0; item < itemCount; item++) {
    statistics.addTargets(item, row);
    addLargest(builder, row, WALKING_MAX, (count) => count / (clicks[item]! + shrinkage));
    if (item % 256 === 0) await afterRows(item / itemCount);
  }
  return builder.build();
}

type Walk = { readonly proceed: number; readonly weightOf: (walk: number, item: number) => number };

/**
 * The weights that M's elements become, row by row. After each step the row's largest entries walk on, and the row of the first step is
 * added again.
 */
async function walked(
  transitions: SparseWeights,
  { proceed, weightOf }: Walk,
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
    addLargest(builder, from, keep, weightOf);
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

/** Closes a row of the builder with the weights of the row's largest entries, and clears the row. */
function addLargest(
  builder: ReturnType<typeof sparseBuilder>,
  row: RowSum,
  keep: number,
  weightOf: (value: number, column: number) => number,
): void {
  for (const column of largestColumns(row, keep, (one) => row.values[one]!))
    builder.add(column, weightOf(row.values[column]!, column));
  builder.endRow();
  clearRow(row);
}
