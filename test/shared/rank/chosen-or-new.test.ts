import fc from "fast-check";
import { expect, test } from "vitest";
import type { ItemIndex } from "../../../shared/ids.ts";
import { joinChosen } from "../../../shared/rank/chosen-or-new.ts";
import type { RepeatOdds } from "../../../shared/repeat-intervals.ts";
import { topK } from "../../../shared/top-k.ts";

const item = (index: number) => index as ItemIndex;
const inOrder = (scores: Float32Array): number[] => topK(scores, scores.length);

/** Parts of a half at the first place, a fourth at the second one, and so on. */
const HALVES = Array.from({ length: 9 }, (_, range) => 0.5 ** (range + 1));

/** The list by the joined scores; new items score 100, 99, 98 and so on in the order of their indices. */
function listOf(again: readonly (readonly [number, number])[], odds: Partial<RepeatOdds>, itemCount = 12): number[] {
  const scores = Float32Array.from({ length: itemCount }, (_, index) => 100 - index);
  const values = new Map(again.map(([index, value]) => [item(index), value]));
  joinChosen(scores, values, {
    odds: { intercept: 0, slope: 0, range: [-100, 100], places: HALVES, ...odds },
    isHidden: undefined,
  });
  return inOrder(scores);
}

test("an item stands where new items are as likely as it is", () => {
  // Item 10 is three times as likely as item 11.
  const two = [
    [10, Math.log(3)],
    [11, 0],
  ] as const;
  expect(listOf(two, { intercept: 0.1 })).toEqual([10, 0, 11, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  expect(listOf(two, { intercept: 2 })).toEqual([10, 11, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  // 3 / 16 is between a fourth, at place 2, and an eighth, in the middle of places 3 and 4; 1 / 16 is in the middle of 5 to 8.
  expect(listOf(two, { intercept: -Math.log(4) })).toEqual([0, 1, 10, 2, 3, 4, 5, 11, 6, 7, 8, 9]);
});

test("by the slope, much that is likely to be chosen again makes a repeated choice likelier", () => {
  const odds = { intercept: -3, slope: 1 };
  expect(listOf([[11, -1]], odds).indexOf(11)).toBeGreaterThan(3);
  expect(listOf([[11, 4]], odds)[0]).toBe(11);
  expect(listOf([[11, 40]], { ...odds, range: [-9, -1] })).toEqual(listOf([[11, -1]], odds)); // and not beyond what was seen
});

const someOdds = fc
  .tuple(
    fc.double({ min: -8, max: 8, noNaN: true }),
    fc.double({ min: -0.5, max: 1.5, noNaN: true }),
    fc.array(fc.double({ min: 1e-6, max: 0.5, noNaN: true }), { minLength: 9, maxLength: 9 }),
  )
  .map(
    ([intercept, slope, places]): RepeatOdds => ({
      intercept,
      slope,
      range: [-50, 50],
      places: places.sort((a, b) => b - a),
    }),
  );

test("new items keep their scores, and chosen ones their order, for all scores, sizes and odds", () =>
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: -1000, max: 1000, noNaN: true }), { minLength: 1, maxLength: 600 }),
      fc.array(fc.tuple(fc.nat(599), fc.integer({ min: -60, max: 60 })), { minLength: 1, maxLength: 40 }),
      someOdds,
      (drawn, chosen, odds) => {
        const before = Float32Array.from(drawn);
        const again = new Map(chosen.map(([index, value]) => [item(index % drawn.length), value]));
        const scores = before.slice();
        joinChosen(scores, again, { odds, isHidden: undefined });
        expect(scores.every(Number.isFinite)).toBe(true);
        for (const [index, score] of scores.entries()) if (!again.has(item(index))) expect(score).toBe(before[index]);
        const byValue = [...again.entries()].sort(([, a], [, b]) => b - a).map(([index]) => scores[index]!);
        for (let i = 1; i < byValue.length; i++) expect(byValue[i]).toBeLessThanOrEqual(byValue[i - 1]!);
      },
    ),
  ));

/** What is likely at the places of the range before that of a place, and of the range after it. */
const around = (place: number) => {
  const range = Math.ceil(Math.log2(place));
  return { before: HALVES[Math.max(0, range - 1)]!, after: HALVES[range + 1] ?? 0 };
};

test("an item is not before a new item that is twice as likely, nor behind one that is half as likely", () =>
  fc.assert(
    fc.property(
      fc.double({ min: -4, max: 4, noNaN: true }),
      fc.integer({ min: 2, max: 300 }),
      (intercept, itemCount) => {
        const place = listOf([[itemCount - 1, 0]], { intercept }, itemCount).indexOf(itemCount - 1);
        const share = Math.exp(intercept);
        if (place > 0) expect(share).toBeLessThanOrEqual(around(place).before);
        if (place + 1 < itemCount) expect(share).toBeGreaterThanOrEqual(around(place + 1).after);
      },
    ),
  ));

test("hidden items take no place, and without new items the chosen ones keep their order", () => {
  const scores = Float32Array.of(9, 8, 7, 6, 0);
  const odds = { intercept: 0, slope: 0, range: [-9, 9] as const, places: HALVES.map((share) => 2 * share) };
  joinChosen(scores, new Map([[item(4), 0]]), { odds, isHidden: (index) => index < 2 });
  expect([...scores]).toEqual([9, 8, 7, 6, 7]); // as likely as the first item that is shown
  const all = Float32Array.of(2, 1);
  joinChosen(all, new Map([0, 1].map((index) => [item(index), index])), { odds, isHidden: undefined });
  expect(inOrder(all)).toEqual([1, 0]);
});
