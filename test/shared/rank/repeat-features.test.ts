import fc from "fast-check";
import { expect, test } from "vitest";
import type { ItemIndex } from "../../../shared/ids.ts";
import { chosenAgain } from "../../../shared/rank/chosen-again.ts";
import { repeatFeatures, repeatScore } from "../../../shared/rank/repeat-features.ts";

const SECOND = 1 / 86_400;
const REPEATS = { daysOf: (item: number) => item + 1, rateOf: (item: number) => 1 / (item + 2) };
const historyOf = (entries: readonly (readonly [item: number, ageDays: number])[]) => ({
  items: entries.map(([item]) => item as ItemIndex),
  agesDays: entries.map(([, age]) => age),
});
/** The features as the definition has them. */
const defined = (item: number, moments: readonly number[]) => {
  const due = Math.log(Math.min(...moments) / REPEATS.daysOf(item));
  const activation = moments.reduce((sum, age) => sum + 1 / Math.sqrt(age), 0);
  return [Math.log(activation), Math.log(moments.length), due, due ** 2, Math.log(REPEATS.rateOf(item))];
};

test("features are those of the definition, and the score is their weighted sum", () =>
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(5), fc.double({ min: SECOND, max: 400, noNaN: true })), { maxLength: 20 }),
      fc.array(fc.double({ min: -2, max: 2, noNaN: true }), { minLength: 5, maxLength: 5 }),
      (entries, weights) => {
        const oldestFirst = entries.toSorted((a, b) => b[1] - a[1]);
        const { chosen, features } = repeatFeatures(historyOf(oldestFirst), REPEATS);
        expect(chosen).toEqual([...new Set(oldestFirst.map(([item]) => item))]);
        for (const [row, item] of chosen.entries()) {
          const expected = defined(item, [...new Set(entries.filter(([one]) => one === item).map(([, age]) => age))]);
          for (let f = 0; f < 5; f++) expect(features[row * 5 + f]).toBeCloseTo(expected[f]!, 8);
          const score = expected.reduce((sum, value, f) => sum + value * weights[f]!, 0);
          expect(repeatScore(weights, features, row)).toBeCloseTo(score, 8);
        }
      },
    ),
  ));

test("entries of an item at one moment count once", () => {
  const twice = historyOf([
    [1, 5],
    [1, 5],
    [2, 5],
    [1, 0],
    [1, 0],
  ]);
  const once = historyOf([
    [1, 5],
    [2, 5],
    [1, 0],
  ]);
  expect(repeatFeatures(twice, REPEATS)).toEqual(repeatFeatures(once, REPEATS));
});

const anyAge = fc.oneof(fc.constantFrom(0, -1e-6), fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }));

test("features and scores are finite for every age, of the same moment, slightly in the future and of another era", () =>
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(5), anyAge), { minLength: 1, maxLength: 20 }),
      fc.double({ min: Number.MIN_VALUE, max: 3e38, noNaN: true }),
      fc.double({ min: Number.MIN_VALUE, max: 1, noNaN: true }),
      (entries, days, rate) => {
        const repeats = { daysOf: () => days, rateOf: () => rate };
        const { features } = repeatFeatures(historyOf(entries), repeats);
        expect(features.every(Number.isFinite)).toBe(true);
        const weights = [0.4, 0.6, 0.1, -0.05, 0.4];
        const { scores } = chosenAgain(historyOf(entries), 10, { itemCount: 10, ...repeats, weights });
        expect(scores.every(Number.isFinite)).toBe(true);
      },
    ),
  ));
