import { expect, test } from "vitest";
import { repeatIntervals } from "../../../../trainer/learn/statistics/repeat-intervals.ts";
import type { Interactions } from "../../../../trainer/read/dataset/dataset.ts";

const DAY = 86_400;
/** One user for each list of choices: an item, the days since the user's first choice, and whether it is positive. */
function interactionsOf(
  users: readonly (readonly (readonly [item: number, days: number, positive?: 0])[])[],
): Interactions {
  const rows = users.flat();
  const userStart = new Uint32Array(users.length + 1);
  for (const [user, choices] of users.entries()) userStart[user + 1] = userStart[user]! + choices.length;
  return {
    ...{ userCount: users.length, itemCount: 4, ratings: null, userStart },
    items: Int32Array.from(rows, ([item]) => item),
    times: Uint32Array.from(rows, ([, days]) => 1e9 + days * DAY),
    positive: Uint8Array.from(rows, ([, , positive]) => positive ?? 1),
  };
}

test("intervals are geometric means between positive choices of the same user, drawn towards the usual one", () => {
  const often = Array.from(
    { length: 200 },
    () =>
      [
        [0, 0],
        [1, 1],
        [0, 2],
        [0, 4],
        [0, 3, 0],
      ] as const,
  );
  const table = repeatIntervals(
    interactionsOf([
      ...often.map((rows) => rows.toSorted((a, b) => a[1] - b[1])),
      [
        [1, 0],
        [1, 32],
      ],
    ]),
  )!;
  expect([...table.items]).toEqual([0, 1]);
  const usual = (400 * Math.log(2) + Math.log(32)) / 401;
  expect(table.usualDays).toBeCloseTo(Math.exp(usual), 5);
  expect(table.days[0]).toBeCloseTo(Math.exp((400 * Math.log(2) + 5 * usual) / 405), 4);
  expect(table.days[1]).toBeCloseTo(Math.exp((Math.log(32) + 5 * usual) / 6), 4);
});

test("with few repetitions there are no intervals", () => {
  const user = [
    [0, 0],
    [0, 2],
    [1, 3],
  ] as const;
  expect(repeatIntervals(interactionsOf(Array(99).fill(user)))).toBeUndefined();
  expect(repeatIntervals(interactionsOf(Array(100).fill(user)))).toBeDefined();
});
