import fc from "fast-check";
import { expect, test } from "vitest";
import type { ItemIndex } from "../../../shared/ids.ts";
import { bestScores, logPlaceOf, scoreAt } from "../../../shared/rank/score-places.ts";

const all = () => true;

test("the best three of these scores are at the places 1 to 3, and others between and beyond them", () => {
  const best = bestScores(Float32Array.of(1, 7, 3, 5), 3, all);
  const placeOf = (score: number) => Math.exp(logPlaceOf(score, best));
  for (const [score, place] of [
    [7, 1],
    [5, 2],
    [4.5, 2.25],
    [3, 3],
    [3 - best.deviation, 3 * Math.E],
    [7 + best.deviation, 1 / Math.E],
  ] as const)
    expect(placeOf(score)).toBeCloseTo(place, 9);
  expect(bestScores(Float32Array.of(1, 7, 3, 5), 3, (item: ItemIndex) => item !== 1).best).toEqual([5, 3, 1]);
});

test("the score at the place of a score is that score, and places fall as scores rise", () =>
  fc.assert(
    fc.property(
      fc.float32Array({ minLength: 1, maxLength: 30, min: -100, max: 100, noNaN: true }),
      fc.array(fc.float({ min: -120, max: 120, noNaN: true }), { minLength: 2, maxLength: 5 }),
      (scores, asked) => {
        const best = bestScores(scores, 10, all);
        const sorted = [...asked, ...scores].sort((a, b) => a - b);
        const places = sorted.map((score) => logPlaceOf(score, best));
        for (const [i, place] of places.entries()) {
          expect(scoreAt(place, best)).toBeCloseTo(sorted[i]!, 3);
          if (i > 0) expect(place).toBeLessThanOrEqual(places[i - 1]! + 1e-9);
        }
      },
    ),
  ));

test("without any candidate, places are counted from the score 0", () => {
  expect(bestScores(Float32Array.of(1, 2), 3, () => false).best).toEqual([0]);
});
