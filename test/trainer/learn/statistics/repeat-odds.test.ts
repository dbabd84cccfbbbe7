import fc from "fast-check";
import { expect, test } from "vitest";
import { seededRandom } from "../../../../trainer/learn/numerics/seeded-random.ts";
import { fitRepeatOdds, type RepeatOutcome } from "../../../../trainer/learn/statistics/repeat-odds.ts";

/** Choices one by one: again with the probability that belongs to the inclusive value, else the new item at a place that is drawn. */
function outcomesOf(
  count: number,
  isAgain: (inclusive: number) => number,
  drawPlace: (random: () => number) => number,
) {
  const random = seededRandom(7);
  return Array.from({ length: count }, (): RepeatOutcome => {
    const inclusive = 6 * random() - 3;
    const again = [inclusive - Math.log(2), inclusive - Math.log(2)];
    const repeated = Number(random() < isAgain(inclusive));
    return { again, repeated, places: repeated ? [] : [drawPlace(random)] };
  });
}
const sigma = (x: number) => 1 / (1 + Math.exp(-x));
const among = (places: number) => (random: () => number) => 1 + Math.floor(places * random());

test("intercept and slope are those by which choices were repeated", () => {
  const odds = fitRepeatOdds(outcomesOf(20_000, (inclusive) => sigma(0.5 * inclusive - 1), among(16)))!;
  expect(odds.intercept).toBeCloseTo(-1, 1);
  expect(odds.slope).toBeCloseTo(0.5, 1);
  for (const [i, end] of [-3, 3].entries()) expect(odds.range[i]).toBeCloseTo(end, 0);
});

test("a repeated choice is never likelier with less to choose again: the share of all is taken instead", () => {
  const odds = fitRepeatOdds(outcomesOf(4000, (inclusive) => sigma(-inclusive), among(16)))!;
  expect(odds.slope).toBe(0);
  expect(odds.intercept).toBeCloseTo(0, 0);
});

test("shares of places are those at which new items were chosen", () => {
  const { places } = fitRepeatOdds(outcomesOf(10_000, () => 0.5, among(16)))!;
  for (const share of places.slice(0, 5)) expect(Math.abs(16 * share - 1)).toBeLessThan(0.25);
  for (const share of places.slice(5)) expect(share).toBeLessThan(0.0005);
});

test("shares never rise, are above 0, and give all ranges together at most what was chosen", () =>
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.integer({ min: 1, max: 300 }), fc.constant(Number.POSITIVE_INFINITY)), {
        minLength: 50,
        maxLength: 90,
      }),
      (drawn) => {
        const outcomes = drawn.map((place): RepeatOutcome => ({ again: [0], repeated: 1, places: [place] }));
        const { places } = fitRepeatOdds(outcomes)!;
        expect(places.every((share) => share > 0)).toBe(true);
        expect(places.toSorted((a, b) => b - a)).toEqual(places);
        const total = places.reduce((sum, share, range) => sum + share * (range === 0 ? 1 : 2 ** (range - 1)), 0);
        const early = drawn.filter((place) => place <= 256).length;
        expect(total * drawn.length).toBeCloseTo(early + 9 / 2, 6);
      },
    ),
  ));

test("with few choices of either kind, there are no odds", () => {
  expect(fitRepeatOdds(outcomesOf(60, () => 0.5, among(4)))).toBeUndefined();
  expect(fitRepeatOdds(outcomesOf(1000, () => 0, among(4)))).toBeUndefined();
  expect(fitRepeatOdds(outcomesOf(1000, () => 1, among(4)))).toBeUndefined();
  expect(fitRepeatOdds(outcomesOf(200, () => 0.5, among(4)))).toBeDefined();
});
