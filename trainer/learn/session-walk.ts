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
  /** Fraction of the weight that stays on the clicked item, which may be clicked again. */
  readonly stay: number;
  /** Probability of a further step. */
  readonly proceed: number;
  /** When scoring, a history entry has the weight e^(−position / recentScale). */
  readonly recentScale: number;
};

const FIRST: SessionWalkParams = {
  gapScale: 2,
  reversed: 0.8,
  shrinkage: 10,
  stay: 0.5,
  proceed: 0.5,
  recentScale: 2,
};

/** Entries of a history between two clicks of a pair, and entries that are read when scoring. */
const WINDOW = 12;
const HISTORY_MAX = 50;
/** Steps of the walk after the first. Further steps moved HR@20 by less than .002. */
const STEPS = 2;
/** Largest entries of a row that are kept after each step. Bounds the memory to about 500 MB. */
const rowMax = (itemCount: number) => Math.max(50, Math.min(300, Math.floor(4e7 / itemCount)));
/** Newest entries of a history that are counted. */
const NEWEST = 1000;

/**
 * Computes M = (stay · I + (1 − stay) · A) · Σ_k (proceed · A)^k for k ≤ 2, where A_ij is the decayed number of clicks on j near clicks
 * on i in a history, divided by the clicks on i and a shrinkage. This is S-Walk (Choi et al. 2022) with shrunk counts in place of
 * its two ridges: on sparse catalogs their solutions differ little from the counts (LOG.md, "Sessions").
 * Wins: sessions in which items are clicked again. Cost: seconds; linear in items · kept entries · entries per row.
 */
export const sessionWalk: Method<SessionWalkParams> = {
  name: "session_walk",
  grid: () => [FIRST, { ...FIRST, recentScale: 4 }, { ...FIRST, stay: 0.3 }, { ...FIRST, shrinkage: 3 }],
  cost(data) {
    const { itemCount, items, userCount } = data;
    const met = 2 * Math.min(WINDOW, items.length / Math.max(1, userCount));
    const perRow = Math.min(itemCount, rowMax(itemCount), (met * items.length) / Math.max(1, itemCount));
    const walked = itemCount * Math.min(rowMax(itemCount), perRow ** 2) * perRow;
    return {
      seconds: 0.01 + 1e-8 * (met * items.length + STEPS * walked),
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
    const weighting = { distinct: false, scale: params.recentScale, window: HISTORY_MAX };
    return fittedLinear("session_walk", params, { itemCount, terms: [{ weighting, matrix }], uses: timesChosen(data) });
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
    addLargest(builder, row, rowMax(itemCount), 1 / (clicks[item]! + shrinkage));
    if (item % 256 === 0) await afterRows(item / itemCount);
  }
  return builder.build();
}

/** Each row of M on its own: its largest entries walk on, and the row that they started with is added again. */
async function walked(
  transitions: SparseWeights,
  { stay, proceed }: SessionWalkParams,
  afterRows: (fraction: number) => Promise<void>,
): Promise<SparseWeights> {
  const { rowCount } = transitions;
  const keep = rowMax(rowCount);
  const builder = sparseBuilder(rowCount, rowCount);
  const [begin, from, to] = [rowSum(rowCount), rowSum(rowCount), rowSum(rowCount)];
  for (let item = 0; item < rowCount; item++) {
    addTo(begin, item, stay);
    addScaled(transitions, item, 1 - stay, begin);
    copyLargest(begin, begin.count, from);
    for (let step = 0; step < STEPS; step++) {
      copyLargest(begin, begin.count, to);
      for (let i = 0; i < from.count; i++) {
        const column = from.touched[i]!;
        addScaled(transitions, column, proceed * from.values[column]!, to);
      }
      clearRow(from);
      copyLargest(to, keep, from);
      clearRow(to);
    }
    addLargest(builder, from, keep, 1);
    clearRow(from);
    clearRow(begin);
    if (item % 256 === 0) await afterRows(item / rowCount);
  }
  return builder.build();
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
