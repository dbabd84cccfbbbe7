import fc from "fast-check";
import { expect, test } from "vitest";
import { positiveHistories } from "../../../../trainer/learn/statistics/histories.ts";
import { type Decay, sequentialStatistics } from "../../../../trainer/learn/statistics/sequential-statistics.ts";
import { clearRow, rowSum } from "../../../../trainer/learn/weights/row-sum.ts";
import { trainingData } from "../../../fixtures/checkerboard.ts";

const ITEMS = 4;

/** The definition, computed directly: sums of outer products of the source vectors of all positions. */
function longhand(histories: readonly (readonly number[])[], decays: readonly Decay[], factor: number) {
  const size = decays.length * ITEMS + 1;
  const a = Array.from({ length: size }, () => new Array<number>(size).fill(0));
  const c = Array.from({ length: size }, () => new Array<number>(ITEMS).fill(0));
  for (const history of histories) {
    for (let t = 0; t + 1 < history.length; t++) {
      const source = new Array<number>(size).fill(0);
      source[size - 1] = 1;
      for (const [d, { scale, window }] of decays.entries()) {
        for (let l = 0; l < window && l <= t; l++) source[d * ITEMS + history[t - l]!]! += Math.exp(-l / scale);
      }
      for (let f = 0; f < size; f++) {
        for (let g = 0; g < size; g++) a[f]![g]! += factor * source[f]! * source[g]!;
        c[f]![history[t + 1]!]! += factor * source[f]!;
      }
    }
  }
  return { a, c };
}

const decay = fc.record({
  scale: fc.double({ min: 0.5, max: 9, noNaN: true }),
  window: fc.integer({ min: 1, max: 6 }),
});
const history = fc.array(fc.integer({ min: 0, max: ITEMS - 1 }), { maxLength: 9 });

test("every row follows the definition, also for repeats, short histories and histories read backwards", () => {
  fc.assert(
    fc.property(
      fc.array(history, { minLength: 1, maxLength: 4 }),
      fc.array(decay, { minLength: 1, maxLength: 2 }),
      fc.constantFrom(0, 0.3),
      (histories, decays, reversed) => {
        const statistics = sequentialStatistics(positiveHistories(trainingData(ITEMS, histories)), decays, reversed);
        const forwards = longhand(histories, decays, 1);
        const backwards = longhand(
          histories.map((items) => items.toReversed()),
          decays,
          reversed,
        );
        const expectRow = (actual: Float64Array, first: number[], second: number[], columns: number) => {
          for (let i = 0; i < columns; i++) expect(actual[i]).toBeCloseTo(first[i]! + second[i]!, 9);
        };
        const size = statistics.featureCount;
        const [row, targets] = [rowSum(size), rowSum(ITEMS)];
        for (let f = 0; f < size; f++) {
          statistics.addSources(f, row, "whole");
          expectRow(row.values, forwards.a[f]!, backwards.a[f]!, size);
          clearRow(row);
          statistics.addSources(f, row, "lower");
          expectRow(row.values, forwards.a[f]!, backwards.a[f]!, f + 1);
          clearRow(row);
          statistics.addTargets(f, targets);
          expectRow(targets.values, forwards.c[f]!, backwards.c[f]!, ITEMS);
          clearRow(targets);
        }
        for (let item = 0; item < ITEMS; item++) {
          statistics.addSourcesOf(item, row);
          const column = (c: number[][]) => c.map((row) => row[item]!);
          expectRow(row.values, column(forwards.c), column(backwards.c), size);
          clearRow(row);
        }
      },
    ),
    { numRuns: 60 },
  );
});
