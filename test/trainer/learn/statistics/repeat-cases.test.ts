import { expect, test } from "vitest";
import { casesIn, heldOutVisits } from "../../../../trainer/learn/statistics/repeat-cases.ts";
import { type Choice, interactionsOf } from "../../../fixtures/repeating-users.ts";

const REPEATS = { daysOf: () => 1, rateOf: () => 1 };
const dataOf = (...users: (readonly Choice[])[]) => interactionsOf(users, 1000);
/** A user who chose these items, one list for each day. */
const byDay = (...days: readonly (readonly number[])[]): Choice[] =>
  days.flatMap((items, day) => items.map((item): Choice => [item, day]));

test("at most the newest three visits are held out, and half of a user's visits", () => {
  const visitsOf = (count: number) => heldOutVisits(dataOf(byDay(...Array<number[]>(count).fill([1, 2]))));
  const counts = [1, 2, 3, 4, 5, 6, 20];
  expect(counts.map((count) => visitsOf(count)[0]?.visits.length)).toEqual([undefined, 1, 1, 2, 2, 3, 3]);
  expect(visitsOf(5)).toEqual([
    {
      user: 0,
      before: 6,
      visits: [
        { start: 6, end: 8 },
        { start: 8, end: 10 },
      ],
    },
  ]);
});

test("a case has an item of before, and at least two of which it could be", () => {
  const data = dataOf(
    byDay([1, 2], [3]), // nothing of before
    byDay([1], [1]), // no other item
    byDay([1], [2], [3], [1]),
    [...byDay([1, 2], [3]), [1, 1, 0]], // item 1 was no positive choice
    [...byDay([1, 2], [1]), [1, 2, 0]], // two visits, since only positive choices make one
  );
  expect(heldOutVisits(data)).toEqual([
    { user: 2, before: 7, visits: [{ start: 8, end: 9 }] },
    { user: 4, before: 15, visits: [{ start: 15, end: 17 }] },
  ]);
});

test("a case has the items of the history at the time of the visit, and those that are wanted", () => {
  const data = dataOf(byDay([7], [5, 7], [3, 3, 6], [7, 8, 6]));
  const cases = casesIn(data, heldOutVisits(data), REPEATS);
  expect(cases.map(({ isWanted }) => [...isWanted])).toEqual([[1, 0, 0, 1]]);
  const expected = [Math.log(1 / Math.sqrt(3) + 1 / Math.sqrt(2)), Math.log(2), Math.log(2), Math.log(2) ** 2, 0];
  for (const [f, value] of expected.entries()) expect(cases[0]!.features[f]).toBeCloseTo(value, 6);
  expect([...cases[0]!.features.subarray(14, 16)]).toEqual([0, 0]); // item 3 counts once, a day ago
});

test("a history is the newest 500 positive choices", () => {
  const early = byDay([900], [901]);
  const many = Array.from({ length: 499 }, (_, i): Choice => [i, 2]);
  const refused = Array.from({ length: 50 }, (_, i): Choice => [i, 2, 0]);
  const data = dataOf([...early, ...many, ...refused, [900, 3], [901, 3], [7, 3]]);
  expect(casesIn(data, heldOutVisits(data), REPEATS)[0]!.isWanted.length).toBe(500);
  expect(heldOutVisits(dataOf([...early, ...many, [900, 3]]))).toEqual([]); // item 900 is too far back
});

test("at most 2,000 cases, of users who are evenly spread", () => {
  const idle = byDay([1], [2]);
  const users = Array.from({ length: 3000 }, (_, user) => (user % 2 ? idle : byDay([1, 2], [1], [2], [1])));
  const heldOut = heldOutVisits(dataOf(...users));
  const cases = heldOut.reduce((sum, { visits }) => sum + visits.length, 0);
  expect(cases).toBe(2000);
  const gaps = heldOut.slice(1).map(({ user }, i) => user - heldOut[i]!.user);
  expect(new Set(gaps)).toEqual(new Set([2, 4]));
  expect(heldOut.at(-1)!.user).toBeGreaterThan(2990);
  expect(heldOutVisits(dataOf(...users))).toEqual(heldOut);
});

test("there are never more than 2,000 cases, even if the users in the sample have more than others", () => {
  const [one, three] = [byDay([1, 2], [1]), byDay([1, 2], [1], [2], [1], [2], [1])];
  const heldOut = heldOutVisits(dataOf(...Array.from({ length: 2000 }, (_, user) => (user % 2 ? three : one))));
  expect(new Set(heldOut.map(({ visits }) => visits.length))).toEqual(new Set([3]));
  expect(heldOut).toHaveLength(666);
});
