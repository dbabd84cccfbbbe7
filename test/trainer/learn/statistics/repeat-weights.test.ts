import fc from "fast-check";
import { expect, test } from "vitest";
import { repeatScore } from "../../../../shared/rank/repeat-features.ts";
import { repeatsOf } from "../../../../shared/repeat-intervals.ts";
import { casesIn, heldOutVisits } from "../../../../trainer/learn/statistics/repeat-cases.ts";
import { repeatIntervals } from "../../../../trainer/learn/statistics/repeat-intervals.ts";
import { fitRepeatWeights, type RepeatCase } from "../../../../trainer/learn/statistics/repeat-weights.ts";
import { interactionsOf, REPEATED_ITEMS, repeatingUsers } from "../../../fixtures/repeating-users.ts";

const USUAL = [0.4, 0.6, 0, -0.05, 0.4, 0, 0];

/** What the weights maximise, as the definition has it. */
function objective(cases: readonly RepeatCase[], weights: readonly number[]): number {
  const prior = weights.reduce((sum, weight, f) => sum + (weight - USUAL[f]!) ** 2, 0);
  const gains = cases.map(({ features, isWanted }) => {
    const scores = Array.from(isWanted, (_, row) => repeatScore(weights, features, row));
    const largest = Math.max(...scores);
    const total = largest + Math.log(scores.reduce((sum, score) => sum + Math.exp(score - largest), 0));
    const wanted = scores.filter((_, row) => isWanted[row]);
    return wanted.reduce((sum, score) => sum + score - total, 0) / wanted.length;
  });
  return gains.reduce((sum, gain) => sum + gain, 0) - 15 * prior;
}

const caseOf = (rows: readonly (readonly number[])[], ...wanted: readonly number[]): RepeatCase => ({
  features: Float64Array.from(rows.flat()),
  isWanted: Uint8Array.from(rows, (_, row) => Number(wanted.includes(row))),
});
const someCase = fc
  .tuple(
    fc.array(fc.array(fc.double({ min: -5, max: 5, noNaN: true }), { minLength: 7, maxLength: 7 }), {
      minLength: 2,
      maxLength: 6,
    }),
    fc.nat(5),
    fc.nat(5),
  )
  .map(([rows, a, b]) => caseOf(rows, a % rows.length, b % rows.length));

test("weights are the maximum: none beside them has a higher objective", () =>
  fc.assert(
    fc.property(fc.array(someCase, { maxLength: 60 }), (cases) => {
      const weights = fitRepeatWeights(cases);
      const best = objective(cases, weights);
      for (let f = 0; f < 7; f++)
        for (const change of [-0.01, 0.01])
          expect(objective(cases, weights.with(f, weights[f]! + change))).toBeLessThan(best);
    }),
  ));

test("without cases, and where all items look alike, weights are the usual ones", () => {
  expect(fitRepeatWeights([])).toEqual(USUAL);
  const alike = caseOf([Array(7).fill(3), Array(7).fill(3)], 1);
  const weights = fitRepeatWeights(Array<RepeatCase>(1000).fill(alike));
  for (const [f, weight] of weights.entries()) expect(weight).toBeCloseTo(USUAL[f]!, 10);
});

test("where whole steps of Newton's method would jump to and fro, halved ones find the maximum", () => {
  // At the usual weights, the wanted item is so unlikely that the curvature is almost that of the prior alone.
  const far = caseOf(
    [
      [0, 0, 0, 0, 0, 0, 0],
      [0, 0, 16, 256, 0, 0, 0],
    ],
    1,
  );
  const cases = Array<RepeatCase>(200).fill(far);
  const weights = fitRepeatWeights(cases);
  expect(objective(cases, weights)).toBeGreaterThan(-5);
  expect(objective(cases, USUAL)).toBeLessThan(-2000);
  for (const weight of weights) expect(Math.abs(weight)).toBeLessThan(1);
});

test("weights learnt from users rank what other users choose again better than the usual ones", () => {
  const learnt = repeatIntervals(interactionsOf(repeatingUsers(200, 1), REPEATED_ITEMS))!;
  const others = interactionsOf(repeatingUsers(100, 2), REPEATED_ITEMS);
  const cases = casesIn(others, heldOutVisits(others), repeatsOf(learnt));
  expect(cases.length).toBeGreaterThan(150);
  const isWantedFirst = (weights: readonly number[]) => {
    const firsts = cases.map(({ features, isWanted }) => {
      const scores = Array.from(isWanted, (_, row) => repeatScore(weights, features, row));
      return isWanted[scores.indexOf(Math.max(...scores))]!;
    });
    return firsts.reduce((sum, first) => sum + first, 0) / cases.length;
  };
  expect(isWantedFirst(learnt.weights)).toBeGreaterThan(isWantedFirst(USUAL) + 0.1);
});
