import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { planRounds } from "../../../../trainer/choose/tries/rounds.ts";

/** One second per candidate and full share. */
const secondsOf = (count: number, share: number) => count * share;
const plan = (candidateCount: number, secondsMax: number, trainUsers = 100_000) =>
  planRounds({ candidateCount, secondsMax, trainUsers, secondsOf });

test("with time for all, all are tried on everything", () =>
  expect(plan(9, 9)).toEqual([{ trainFraction: 1, tried: 9, keep: 1 }]));
test("9 candidates in 6 s: 9 on a third, then 3 on all", () =>
  expect(plan(9, 6)).toEqual([
    { trainFraction: 1 / 3, tried: 9, keep: 3 },
    { trainFraction: 1, tried: 3, keep: 1 },
  ]));
test("9 candidates in 3 s: 9 on a ninth, 3 on a third, the best on all", () =>
  expect(plan(9, 3).map(({ tried }) => tried)).toEqual([9, 3, 1]));
test("few users are not divided: the best guesses are tried on everything", () =>
  expect(plan(9, 4, 2000)).toEqual([{ trainFraction: 1, tried: 4, keep: 1 }]));
test("no time for one: no rounds", () => expect(plan(3, 0.5, 2000)).toEqual([]));
test("nothing to try: no rounds", () => expect(plan(0, 100)).toEqual([]));

describe("for any numbers", () => {
  const cases = [
    fc.integer({ min: 1, max: 40 }),
    fc.double({ min: 0.01, max: 50, noNaN: true }),
    fc.integer({ min: 1, max: 1e6 }),
  ] as const;
  test("the plan keeps to its time, ends on all users, and each round tries what the last one kept", () => {
    fc.assert(
      fc.property(...cases, (count, seconds, users) => {
        const rounds = plan(count, seconds, users);
        if (rounds.length === 0) expect(seconds).toBeLessThan(1);
        if (rounds.length === 0) return;
        expect(rounds.reduce((sum, round) => sum + secondsOf(round.tried, round.trainFraction), 0)).toBeLessThanOrEqual(
          seconds,
        );
        expect(rounds.at(-1)).toMatchObject({ trainFraction: 1, keep: 1 });
        for (const [i, round] of rounds.slice(1).entries()) expect(round.tried).toBe(rounds[i]!.keep);
      }),
    );
  });
});
