import fc from "fast-check";
import { expect, test } from "vitest";
import { ITEMS_MAX } from "../../../../shared/recent-choices.ts";
import { countRecentChoices } from "../../../../trainer/learn/statistics/recent-choices.ts";
import type { Interactions } from "../../../../trainer/read/dataset/dataset.ts";

const HOUR = 3600;
type Row = { readonly user: number; readonly item: number; readonly hoursAgo: number; readonly isPositive: boolean };

function interactionsOf(rows: readonly Row[], itemCount: number): Interactions {
  const userCount = 5;
  const sorted = [...rows].sort((a, b) => a.user - b.user || b.hoursAgo - a.hoursAgo);
  return {
    ...{ userCount, itemCount, ratings: null },
    userStart: Uint32Array.from({ length: userCount + 1 }, (_, user) => sorted.filter((row) => row.user < user).length),
    items: Int32Array.from(sorted, ({ item }) => item),
    times: Uint32Array.from(sorted, ({ hoursAgo }) => 1e9 - hoursAgo * HOUR),
    positive: Uint8Array.from(sorted, ({ isPositive }) => Number(isPositive)),
  };
}

const row = fc.record({
  user: fc.nat(4),
  item: fc.nat(2),
  hoursAgo: fc.oneof(fc.nat(60), fc.nat(900)),
  isPositive: fc.boolean(),
});

test("each bin has the distinct users with a positive interaction of its age", () =>
  fc.assert(
    fc.property(fc.array(row, { maxLength: 40 }), (rows) => {
      const { until, edgesHours, items, counts, totals, othersMax } = countRecentChoices(interactionsOf(rows, 7));
      const positives = rows.filter(({ isPositive }) => isPositive);
      const newest = Math.min(...positives.map(({ hoursAgo }) => hoursAgo));
      expect(until).toBe(positives.length > 0 ? 1e9 - newest * HOUR : 0);
      const bins = edgesHours.length - 1;
      for (let bin = 0; bin < bins; bin++) {
        const usersOf = (item: number) => {
          const isIn = ({ hoursAgo }: Row) =>
            hoursAgo - newest >= edgesHours[bin]! && hoursAgo - newest < edgesHours[bin + 1]!;
          return new Set(positives.filter((one) => one.item === item && isIn(one)).map(({ user }) => user)).size;
        };
        const all = Array.from({ length: 7 }, (_, item) => usersOf(item));
        const found = all.map((_, item) => (items.includes(item) ? counts[items.indexOf(item) * bins + bin] : 0));
        expect(found).toEqual(all);
        expect(totals[bin]).toBe(all.reduce((sum, users) => sum + users, 0));
      }
      expect(othersMax).toBe(0);
    }),
  ));

test("of many items, those with the most choices are listed, and the others had at most as many", () => {
  const rows = Array.from({ length: ITEMS_MAX + 10 }, (_, item) => ({ user: 0, item, hoursAgo: 1, isPositive: true }));
  const often = Array.from({ length: 4 }, (_, user) => ({
    user: user + 1,
    item: 20_005,
    hoursAgo: 2,
    isPositive: true,
  }));
  const table = countRecentChoices(interactionsOf([...rows, ...often], ITEMS_MAX + 10));
  expect([table.items.length, table.othersMax, table.items.at(-1)]).toEqual([ITEMS_MAX, 1, 20_005]);
  expect(table.counts).toBeInstanceOf(Uint8Array);
});
