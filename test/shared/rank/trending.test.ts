import fc from "fast-check";
import { expect, test } from "vitest";
import type { ItemId, ItemIndex } from "../../../shared/ids.ts";
import { growthOf, trendingScores } from "../../../shared/rank/trending.ts";
import { rank } from "../../../shared/rank.ts";
import type { ChoiceCounts, Choices } from "../../../shared/recent-choices.ts";
import type { Snapshot } from "../../../shared/snapshot.ts";
import { countRecentChoices } from "../../../trainer/learn/statistics/recent-choices.ts";
import { plantedTrends } from "../../fixtures/planted-trends.ts";
import { brandIs, rankedShop, sessionRequest, snapshotOf } from "../../fixtures/ranked-shop.ts";

const count = fc.nat(500);
const pace = fc.double({ min: 0.1, max: 100, noNaN: true });

test("growth is below its estimate, rises with recent choices and falls with earlier ones", () =>
  fc.assert(
    fc.property(count, count, pace, (recent, earlier, pace) => {
      const growth = growthOf(recent, earlier, pace);
      expect(growth).toBeGreaterThanOrEqual(0);
      expect(growth).toBeLessThanOrEqual((pace * recent) / (earlier + pace) + 1e-9);
      expect(growthOf(recent + 1, earlier, pace)).toBeGreaterThan(growth);
      expect(growthOf(recent, earlier + 1, pace)).toBeLessThanOrEqual(growth);
    }),
  ));

test("two choices are no trend, five of a new item are, and the bound comes close to the growth with more of them", () => {
  const pace = 14;
  expect(growthOf(2, 0, pace)).toBeLessThan(1);
  expect(growthOf(5, 0, pace)).toBeGreaterThan(1);
  expect(growthOf(100, 1400, pace)).toBeLessThan(1);
  expect(growthOf(4000, 14_000, pace)).toBeGreaterThan(3.8);
  expect(growthOf(4000, 14_000, pace)).toBeLessThan(4);
});

/** A shop's snapshot whose items were chosen so often in the last 48 hours and in the 28 days before. */
function chosen(snapshot: Snapshot, choices: readonly Choices[]): Snapshot {
  const recentChoices: ChoiceCounts = {
    ...{ until: 0, edgesHours: [0, 48, 720], othersMax: 0, itemCount: choices.length },
    totals: [
      choices.reduce((sum, { recent }) => sum + recent, 0),
      choices.reduce((sum, { earlier }) => sum + earlier, 0),
    ],
    items: Uint32Array.from(choices, (_, item) => item),
    counts: Uint32Array.from(choices.flatMap(({ recent, earlier }) => [recent, earlier])),
  };
  return { ...snapshot, recentChoices };
}

const withChoices = rankedShop.chain((shop) => {
  const { length } = shop.scores;
  const choices = fc.record({ recent: fc.nat(60), earlier: fc.nat(300) });
  return fc.tuple(fc.constant(shop), fc.array(choices, { minLength: length, maxLength: length }));
});

test("items that have grown come first, by growth, and all others by popularity; filters, caps and pins hold", () =>
  fc.assert(
    fc.asyncProperty(withChoices, fc.integer({ min: 1, max: 12 }), async ([shop, choices], limit) => {
      const snapshot = chosen(snapshotOf(shop), choices);
      const sum = (of: keyof Choices) => choices.reduce((total, one) => total + one[of], 0);
      const pace = sum("earlier") / sum("recent");
      const growths = choices.map(({ recent, earlier }) => growthOf(recent, earlier, pace));
      const byGrowth = [...growths.keys()]
        .filter((item) => growths[item]! > 1)
        .sort((a, b) => growths[b]! - growths[a]! || a - b);
      const expected = [...byGrowth, ...[...growths.keys()].filter((item) => !byGrowth.includes(item))];
      const request = sessionRequest({ session: [], limit: 100, strategy: "trending" });
      const { items, strategy } = await rank(request, snapshot);
      // Float32 scores of nearly equal growths may be equal.
      expect(items.map((item) => Math.log(Math.max(1, growths[item]!)).toFixed(5))).toEqual(
        expected.map((item) => Math.log(Math.max(1, growths[item]!)).toFixed(5)),
      );
      expect(strategy).toBe(byGrowth.length > 0 ? "trending" : "popular");

      const filtered = await rank({ ...request, limit, filter: brandIs("a") }, snapshot);
      expect(filtered.items).toEqual(items.filter((item) => shop.brands[item] === "a").slice(0, limit));
      const pin = String(items.at(-1)) as ItemId;
      const pinned = await rank({ ...request, limit, shaping: { pinned: [pin] } }, snapshot);
      expect(pinned.items).toEqual([items.at(-1)!, ...items.slice(0, -1)].slice(0, limit));
      const hidden = await rank({ ...request, limit }, { ...snapshot, isHidden: (item) => item === items[0] });
      expect(hidden.items).toEqual(items.slice(1, limit + 1));
      const given = await rank({ ...request, limit, itemIds: [pin] }, snapshot);
      expect(given.items).toEqual([items.at(-1)]);
    }),
  ));

test("live choices add to those of the version, whose hours pass; an item without counts was chosen as the others at most", () => {
  const shop = { scores: [1, 1, 1, 1], brands: [null, null, null, null], tags: [[], [], [], []] };
  const HOURS = 3600;
  const table: ChoiceCounts = {
    ...{ until: 0, edgesHours: [0, 24, 48, 72, 720], othersMax: 90, itemCount: 4, totals: [140, 40, 40, 3000] },
    items: Uint32Array.of(0, 1),
    counts: Uint8Array.of(10, 20, 20, 200, 40, 1, 1, 30),
  };
  const snapshot = { ...snapshotOf(shop), recentChoices: table };
  const orderOf = (snapshot: Snapshot, nowSeconds: number) => {
    const { scores } = trendingScores(snapshot, nowSeconds);
    return [...scores.keys()].sort((a, b) => scores[b]! - scores[a]!);
  };
  expect(orderOf(snapshot, 0)[0]).toBe(1);
  expect(orderOf(snapshot, 1e6 * HOURS)).toEqual(orderOf(snapshot, 0)); // without live choices, the newest choice is now
  const live = (...items: [number, Choices][]) => {
    const entries = items.map(([item, choices]) => [item as ItemIndex, choices] as const);
    const totals = { recent: 100, earlier: 0 };
    return { ...snapshot, newCount: 1, liveChoices: { items: new Map(entries), totals } };
  };
  expect(orderOf(live([0, { recent: 60, earlier: 0 }]), 24 * HOURS).slice(0, 2)).toEqual([1, 0]);
  // After two days, only live choices are recent.
  expect(orderOf(live([0, { recent: 60, earlier: 0 }]), 48 * HOURS)[0]).toBe(0);
  expect(orderOf(live([3, { recent: 6, earlier: 0 }]), 48 * HOURS)[0]).toBe(0); // the version may know 90 earlier ones
  expect(orderOf(live([4, { recent: 6, earlier: 0 }]), 48 * HOURS)[0]).toBe(4); // a new item
});

test("without any counts, or without recent ones, the list is popular", async () => {
  const shop = { scores: [1, 2, 3], brands: [null, null, null], tags: [[], [], []] };
  const request = sessionRequest({ session: [], strategy: "trending" });
  expect(await rank(request, snapshotOf(shop))).toMatchObject({ items: [0, 1, 2], strategy: "popular" });
  const idle = chosen(
    snapshotOf(shop),
    [0, 1, 2].map(() => ({ recent: 0, earlier: 5 })),
  );
  expect(await rank(request, idle)).toMatchObject({ items: [0, 1, 2], strategy: "popular" });
});

test("planted trends lead the list, also on a busy weekend, and popular items of the last days would not show them", () => {
  for (const season of [1, 3, 0.3]) {
    const { data, trending, untilSeconds } = plantedTrends({
      items: 2000,
      choices: 100_000 / Math.min(1, season),
      growth: 4,
      season,
    });
    const table = countRecentChoices(data);
    const { scores } = trendingScores({ recentChoices: table, itemCount: 2000 } as Snapshot, untilSeconds);
    const bestOf = (values: ArrayLike<number>) =>
      Array.from(values, (_, item) => item)
        .sort((a, b) => values[b]! - values[a]! || a - b)
        .slice(0, 20);
    const precision = (items: readonly number[]) => items.filter((item) => trending.includes(item)).length / 20;
    const lately = new Float64Array(2000);
    for (const [row, item] of data.items.entries()) if (data.times[row]! > table.until - 48 * 3600) lately[item]!++;
    expect(precision(bestOf(scores))).toBeGreaterThanOrEqual(0.9);
    expect(precision(bestOf(lately))).toBeLessThan(0.5);
  }
});
