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
  const near = (periodDays: number, sharpness: number) => {
    const turns = moments.map((age) => (2 * Math.PI * age) / periodDays);
    const share = turns.reduce((sum, turn) => sum + Math.exp(sharpness * (Math.cos(turn) - 1)), 0) / moments.length;
    return Math.log((0.1 + share) / 1.1);
  };
  const choice = [Math.log(activation), Math.log(moments.length), due, due ** 2, Math.log(REPEATS.rateOf(item))];
  return [...choice, near(1, 5), near(7, 20)];
};

test("features are those of the definition, and the score is their weighted sum", () =>
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(5), fc.double({ min: SECOND, max: 400, noNaN: true })), { maxLength: 20 }),
      fc.array(fc.double({ min: -2, max: 2, noNaN: true }), { minLength: 7, maxLength: 7 }),
      (entries, weights) => {
        const oldestFirst = entries.toSorted((a, b) => b[1] - a[1]);
        const { chosen, features } = repeatFeatures(historyOf(oldestFirst), REPEATS);
        expect(chosen).toEqual([...new Set(oldestFirst.map(([item]) => item))]);
        for (const [row, item] of chosen.entries()) {
          const expected = defined(item, [...new Set(entries.filter(([one]) => one === item).map(([, age]) => age))]);
          for (let f = 0; f < 7; f++) expect(features[row * 7 + f]).toBeCloseTo(expected[f]!, 8);
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

test("what is chosen in the mornings is likelier in the morning, and what is chosen on Mondays on a Monday", () => {
  const score = (weights: readonly number[], ...ages: readonly number[]) => {
    const { features } = repeatFeatures(historyOf(ages.map((age) => [1, age] as const)), REPEATS);
    return repeatScore(weights, features, 0);
  };
  const [day, week] = [
    [0, 0, 0, 0, 0, 1, 0],
    [0, 0, 0, 0, 0, 0, 1],
  ];
  expect(score(day!, 1, 2, 3)).toBeCloseTo(0, 10); // at this time on every day
  expect(score(day!, 1.5, 2.5, 3.5)).toBeCloseTo(Math.log(0.1 / 1.1), 2); // at the other end of the day
  expect(score(day!, 1, 2.5)).toBeCloseTo(Math.log(0.6 / 1.1), 3);
  expect(score(week!, 7, 14)).toBeCloseTo(0, 10);
  expect(score(week!, 8, 15)).toBeCloseTo(Math.log(0.1 / 1.1), 1); // on the day before
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
        const weights = [0.4, 0.6, 0.1, -0.05, 0.4, 1, 0.5];
        const { scores } = chosenAgain(historyOf(entries), 10, { itemCount: 10, ...repeats, weights });
        expect(scores.every(Number.isFinite)).toBe(true);
      },
    ),
  ));
