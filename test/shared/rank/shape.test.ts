import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ItemId, ItemIndex } from "../../../shared/ids.ts";
import type { Shaping } from "../../../shared/rank/compile-shaping.ts";
import { shape } from "../../../shared/rank/shape.ts";
import { rank } from "../../../shared/rank.ts";
import {
  brandIs,
  type RankedShop,
  rankedShop,
  sessionRequest,
  snapshotOf,
  sortedItems,
} from "../../fixtures/ranked-shop.ts";

const limit = fc.integer({ min: 1, max: 12 });
const share = fc.constantFrom(0.1, 0.3, 0.5, 1);
const idsOf = (items: readonly number[]) => items.map((item) => String(item) as ItemId);

async function listOf(shop: RankedShop, limit: number, shaping: Shaping): Promise<ItemIndex[]> {
  const { items } = await rank(sessionRequest({ limit, shaping }), snapshotOf(shop));
  return items;
}

/** Mean and standard deviation, by their definitions. */
function scaleOf(scores: readonly number[]) {
  const mean = scores.reduce((sum, score) => sum + score, 0) / scores.length;
  const variance = scores.reduce((sum, score) => sum + (score - mean) ** 2, 0) / scores.length;
  return { mean, deviation: variance > 0 ? Math.sqrt(variance) : 1 };
}

/** The values of an item that a cap on an attribute counts. */
const valuesOf = ({ brands, tags }: RankedShop, attribute: string, item: number): readonly string[] =>
  attribute === "brand" ? [brands[item]].filter((brand) => typeof brand === "string") : tags[item]!;

/** The reference of caps: takes the items one after another, where every value still has room. */
function takeWithin(
  shop: RankedShop,
  order: readonly number[],
  caps: ReadonlyMap<string, number>,
  placed: number[] = [],
) {
  const list = [...placed];
  for (const item of order) {
    const hasRoom = [...caps].every(([attribute, max]) =>
      valuesOf(shop, attribute, item).every(
        (value) => list.filter((other) => valuesOf(shop, attribute, other).includes(value)).length < max,
      ),
    );
    if (hasRoom) list.push(item);
  }
  return list;
}

test("steps that change nothing give the plain list", () =>
  fc.assert(
    fc.asyncProperty(rankedShop, limit, async (shop, limit) => {
      const none: Shaping = { boosts: [], diversity: 0, exploration: 0, maxPerValue: new Map(), pinned: [] };
      const plain = await rank(sessionRequest({ limit }), snapshotOf(shop));
      expect(plain.items).toEqual(sortedItems(shop).slice(0, limit));
      expect(await rank(sessionRequest({ limit, shaping: none }), snapshotOf(shop))).toMatchObject(plain);
    }),
  ));

test("given candidates are ranked by score, unknown ids are counted, and nothing else is in the list", () =>
  fc.assert(
    fc.asyncProperty(rankedShop, limit, fc.array(fc.nat(60), { minLength: 1 }), async (shop, limit, given) => {
      const request = sessionRequest({ limit, itemIds: idsOf(given) });
      const expected = sortedItems(shop).filter((item) => given.includes(item));
      const { items, unknownItems } = await rank(request, snapshotOf(shop));
      expect(items).toEqual(expected.slice(0, limit));
      expect(unknownItems).toBe(given.filter((item) => item >= shop.scores.length).length);
      const popular = await rank({ ...request, session: [] }, snapshotOf(shop));
      const known = [...new Set(given)].filter((item) => item < shop.scores.length);
      expect(popular.items).toEqual(known.sort((a, b) => a - b).slice(0, limit));
    }),
  ));

test("scores are in standard deviations, boosts are added to them, and they order the list", () =>
  fc.assert(
    fc.asyncProperty(
      rankedShop,
      fc.array(fc.tuple(fc.constantFrom("a", "b", "c"), fc.constantFrom(-2, -0.5, 1, 3)), { maxLength: 3 }),
      async (shop, boosts) => {
        const shaping = { boosts: boosts.map(([brand, by]) => ({ filter: brandIs(brand), by })) };
        const request = sessionRequest({ limit: 50, shaping, wanted: { scores: true, reasons: false } });
        const { items, scores } = await rank(request, snapshotOf(shop));
        const { mean, deviation } = scaleOf(shop.scores);
        expect([...items].sort((a, b) => a - b)).toEqual(sortedItems(shop).sort((a, b) => a - b));
        for (const [i, item] of items.entries()) {
          const boost = boosts.reduce((sum, [brand, by]) => sum + (shop.brands[item] === brand ? by : 0), 0);
          expect(scores![i]).toBeCloseTo((shop.scores[item]! - mean) / deviation + boost, 4);
          expect(scores![i]).toBeLessThanOrEqual(scores![i - 1] ?? Infinity);
        }
      },
    ),
  ));

test("popular answers have scores that fall", async () => {
  const shop = { scores: [1, 1, 1], brands: [null, null, null], tags: [[], [], []] };
  const { scores } = await rank(
    sessionRequest({ session: [], wanted: { scores: true, reasons: false } }),
    snapshotOf(shop),
  );
  expect(scores!.reduce((sum, score) => sum + score, 0)).toBeCloseTo(0);
  expect(scores).toEqual([...scores!].sort((a, b) => b - a));
});

test("caps take what the reference takes, from the whole catalog", () =>
  fc.assert(
    fc.asyncProperty(
      rankedShop,
      limit,
      fc.constantFrom(1, 2),
      fc.option(fc.constantFrom(1, 3)),
      async (shop, limit, brand, tags) => {
        const caps = new Map([["brand", brand], ...(tags === null ? [] : ([["tags", tags]] as const))]);
        const expected = takeWithin(shop, sortedItems(shop), caps).slice(0, limit);
        expect(await listOf(shop, limit, { maxPerValue: caps })).toEqual(expected);
      },
    ),
  ));

test("pinned candidates come first in the given order, and count for the caps", () =>
  fc.assert(
    fc.asyncProperty(rankedShop, limit, fc.array(fc.nat(50), { maxLength: 5 }), async (shop, limit, pins) => {
      const placed = [...new Set(pins)].filter((item) => item > 0 && item < shop.scores.length).slice(0, limit);
      const rest = sortedItems(shop).filter((item) => !placed.includes(item));
      const pinned = idsOf(pins);
      expect(await listOf(shop, limit, { pinned })).toEqual([...placed, ...rest].slice(0, limit));
      const caps = new Map([["brand", 1]]);
      const expected = takeWithin(shop, rest, caps, placed).slice(0, limit);
      expect(await listOf(shop, limit, { pinned, maxPerValue: caps })).toEqual(expected);
    }),
  ));

describe("diversity", () => {
  test("it reorders the best 5 × limit candidates and keeps the first", () =>
    fc.assert(
      fc.asyncProperty(rankedShop, limit, share, async (shop, limit, diversity) => {
        const list = await listOf(shop, limit, { diversity });
        const pool = sortedItems(shop).slice(0, 5 * limit);
        expect(list).toHaveLength(Math.min(limit, pool.length));
        expect(new Set(list).size).toBe(list.length);
        expect(list.every((item) => pool.includes(item))).toBe(true);
        if (diversity < 1) expect(list[0]).toBe(pool[0]);
      }),
    ));

  test("items of another brand come before equally scored ones of the same", async () => {
    const brands = [null, "a", "a", "a", "b", "b", "c"];
    const shop = { scores: [0, 6, 5.9, 5.8, 5.7, 5.6, 5.5], brands, tags: brands.map(() => []) };
    expect(await listOf(shop, 3, { diversity: 0 })).toEqual([1, 2, 3]);
    expect(await listOf(shop, 3, { diversity: 0.6 })).toEqual([1, 4, 6]);
  });

  test("a version without attributes is refused", async () => {
    const { attributes: _, ...bare } = snapshotOf({ scores: [1, 2], brands: [null, null], tags: [[], []] });
    const request = sessionRequest({ shaping: { diversity: 0.5 } });
    await expect(rank(request, bare)).rejects.toMatchObject({ code: "unknown_attribute" });
  });
});

describe("exploration", () => {
  test("its share of the places goes to the less popular half; all others keep their order", () =>
    fc.assert(
      fc.asyncProperty(rankedShop, limit, share, fc.nat(1000), async (shop, limit, exploration, seed) => {
        const list = await listOf(shop, limit, { exploration, seed });
        const sorted = sortedItems(shop);
        fc.pre(sorted.length >= limit);
        const rare = sorted.filter((item) => item >= shop.scores.length / 2).slice(0, 5 * limit);
        const places = [...Array(limit).keys()].filter(
          (i) => Math.floor((i + 1) * exploration + 1e-9) > Math.floor(i * exploration + 1e-9),
        );
        const drawn = places.slice(0, rare.length).flatMap((place) => list[place] ?? []);
        expect(drawn.every((item) => rare.includes(item))).toBe(true);
        const others = list.filter((item) => !drawn.includes(item));
        expect(others).toEqual(sorted.filter((item) => others.includes(item)));
        expect(list).toHaveLength(limit);
        expect(await listOf(shop, limit, { exploration, seed })).toEqual(list);
      }),
    ));

  test("an item is drawn in proportion to e^score", async () => {
    const shop = { scores: [5, 5, 5, 5, 0, 1, 2, 1], brands: Array(8).fill(null), tags: Array(8).fill([]) };
    const { mean, deviation } = scaleOf(shop.scores);
    const weights = [4, 5, 6, 7].map((item) => Math.exp((shop.scores[item]! - mean) / deviation));
    const counts = [0, 0, 0, 0];
    for (let seed = 0; seed < 600; seed++) counts[(await listOf(shop, 1, { exploration: 1, seed }))[0]! - 4]!++;
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    for (const [i, count] of counts.entries()) expect(count / 600).toBeCloseTo(weights[i]! / total, 1);
  });

  test("another day, user or version draws anew", async () => {
    const shop = { scores: Array(40).fill(1), brands: Array(40).fill(null), tags: Array(40).fill([]) };
    const request = sessionRequest({ limit: 15, shaping: { exploration: 1 } });
    const { items } = await rank(request, snapshotOf(shop));
    const others = await Promise.all([
      rank({ ...request, nowSeconds: request.nowSeconds + 86_400 }, snapshotOf(shop)),
      rank({ ...request, userId: "ann" as never }, snapshotOf(shop)),
      rank(request, { ...snapshotOf(shop), version: "v2" }),
    ]);
    for (const other of others) expect(other.items).not.toEqual(items);
    expect((await rank({ ...request, nowSeconds: request.nowSeconds + 3600 }, snapshotOf(shop))).items).toEqual(items);
  });
});

test("an unknown attribute in a cap is refused, with the known names", async () => {
  const shop = { scores: [1, 2], brands: ["a", "b"], tags: [[], []] };
  const call = listOf(shop, 2, { maxPerValue: new Map([["brnd", 1]]) });
  await expect(call).rejects.toMatchObject({
    code: "unknown_attribute",
    errors: [{ pointer: "/max_per_value/brnd", message: expect.stringContaining('did you mean "brand"?') }],
  });
});

test("caps that reach down to the last brand test each item about once, since full brands are passed over", () => {
  const [brandCount, perBrand] = [20, 500];
  const itemCount = brandCount * perBrand;
  const brandAt = (item: number) => Math.floor(item / perBrand); // the best items are all of the first brand, and so on
  let tests = 0;
  const full = new Set<number>();
  const caps = {
    hasRoom: (item: ItemIndex) => ++tests > 0 && !full.has(brandAt(item)),
    count: (item: ItemIndex) => void full.add(brandAt(item)),
  };
  const shaping = { boosts: [], diversity: 0, exploration: 0, seed: 0, caps, pinned: [], table: null };
  const scores = Float32Array.from({ length: itemCount }, (_, item) => -item);
  const page = { limit: brandCount, offset: 0 };
  const { items } = shape(scores, page, { isCandidate: () => true, among: itemCount, newCount: 0 }, shaping);
  expect(items).toEqual(Array.from({ length: brandCount }, (_, brand) => brand * perBrand));
  expect(tests).toBeLessThan(2 * itemCount);
});
