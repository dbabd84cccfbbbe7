import fc from "fast-check";
import { expect, test } from "vitest";
import { basketsOf, itemsTogether } from "../../../trainer/publish/items-together.ts";
import type { Interactions } from "../../../trainer/read/dataset/dataset.ts";
import { trainingData } from "../../fixtures/checkerboard.ts";

const ITEMS = 6;
const HOUR = 3600;
const sessions = fc.array(fc.array(fc.nat(ITEMS - 1), { maxLength: 8 }), { minLength: 1, maxLength: 15 });

test("strengths are those of the definition, the strongest first", () =>
  fc.assert(
    fc.property(sessions, (histories) => {
      const baskets = histories.filter((history) => history.length > 0);
      const withAll = (...of: number[]) => baskets.filter((one) => of.every((item) => one.includes(item))).length;
      const found = itemsTogether(trainingData(ITEMS, histories), { areSessions: true });
      const pairs = Array.from({ length: ITEMS }, (_, i) => Array.from({ length: ITEMS }, (_, j) => withAll(i, j)));
      const largest = Math.max(...pairs.flatMap((row, i) => row.filter((_, j) => j !== i)));
      if (largest < 2) return void expect(found).toBeUndefined();
      const { start, others, strengths } = found!;
      for (let item = 0; item < ITEMS; item++) {
        const expected = new Map<number, number>();
        for (let other = 0; other < ITEMS; other++) {
          const usual = withAll(other) / baskets.length;
          const part = (withAll(item, other) + 20 * usual) / (withAll(item) + 20);
          if (other !== item && withAll(item, other) > 0 && part > usual)
            expected.set(other, part * Math.log(part / usual));
        }
        const row = Array.from(
          others.subarray(start[item], start[item + 1]),
          (other, i) => [other, strengths[start[item]! + i]!] as const,
        );
        expect(row.map(([, strength]) => strength)).toEqual(row.map(([, strength]) => strength).sort((a, b) => b - a));
        // A part that equals the usual one may differ from it by rounding.
        for (const [other, strength] of row) expect(strength).toBeCloseTo(expected.get(other) ?? 0, 5);
        for (const [other, strength] of expected)
          if (strength > 1e-9) expect(row.map(([other]) => other)).toContain(other);
      }
    }),
  ));

/** One user whose choices are so many hours apart. */
function chosenAt(...rows: readonly (readonly [item: number, hours: number, positive?: 0])[]): Interactions {
  return {
    ...{ userCount: 1, itemCount: ITEMS, ratings: null },
    userStart: Uint32Array.of(0, rows.length),
    items: Int32Array.from(rows, ([item]) => item),
    times: Uint32Array.from(rows, ([, hours]) => 1e9 + hours * HOUR),
    positive: Uint8Array.from(rows, ([, , positive]) => positive ?? 1),
  };
}
const listed = (data: Interactions, areSessions: boolean) => {
  const { start, items, userCount } = basketsOf(data, { areSessions });
  return Array.from({ length: userCount }, (_, i) => [...items.subarray(start[i], start[i + 1])]);
};

test("a large basket counts with its newest 50 items", () => {
  const large = Array.from({ length: 60 }, (_, i) => [i % ITEMS, 0] as const);
  const newest = large.slice(-50).map(([item]) => item);
  expect(listed(chosenAt([5, -90], ...large, [3, 90]), false)).toEqual([[5], newest, [3]]);
});

test("a basket is a session, or what the user has chosen within 24 hours of its first item", () => {
  const data = chosenAt([0, 0], [1, 20], [5, 21, 0], [2, 24], [3, 25], [4, 60]);
  expect(listed(data, false)).toEqual([[0, 1, 2], [3], [4]]);
  expect(listed(data, true)).toEqual([[0, 1, 2, 3, 4]]);
  expect(listed(chosenAt([5, 0, 0]), false)).toEqual([]);
});

test("where memory is short, baskets of fewer users count", () => {
  const data = trainingData(ITEMS, Array(250_000).fill([0]));
  const usersWithin = (memoryMb: number | undefined) => basketsOf(data, { areSessions: true, memoryMb }).userCount;
  expect([undefined, 8, 4, 0].map(usersWithin)).toEqual([250_000, 250_000, 125_000, 83_334]);
});

test("it is directional: what goes with everything is weak after each, and each is strong after what only goes with it", () => {
  const bag = 0;
  const histories = [
    ...Array(30).fill([bag, 1]),
    ...Array(60).fill([bag, 2]),
    ...Array(10).fill([3, 4]),
    ...Array(40).fill([5]),
  ];
  const { start, others, strengths } = itemsTogether(trainingData(ITEMS, histories), { areSessions: true })!;
  const strengthOf = (item: number, other: number) => {
    const at = others.subarray(start[item], start[item + 1]).indexOf(other);
    return at < 0 ? 0 : strengths[start[item]! + at]!;
  };
  expect(strengthOf(3, 4)).toBeGreaterThan(strengthOf(1, bag));
  expect(strengthOf(1, bag)).not.toBeCloseTo(strengthOf(bag, 1), 2);
});
