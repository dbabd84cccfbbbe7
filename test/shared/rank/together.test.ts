import fc from "fast-check";
import { expect, test } from "vitest";
import type { ItemId } from "../../../shared/ids.ts";
import { type RankRequest, rank } from "../../../shared/rank.ts";
import type { Snapshot } from "../../../shared/snapshot.ts";
import { decodeTogether, encodeTogether } from "../../../shared/together.ts";
import { brandIs, type RankedShop, rankedShop, sessionRequest, snapshotOf } from "../../fixtures/ranked-shop.ts";

/** Strengths are squares, which bytes hold exactly. */
const strength = fc.integer({ min: 1, max: 15 }).map((root) => (root / 15) ** 2);
const shopWithRows = rankedShop.chain((shop) => {
  const count = shop.scores.length;
  const row = fc.uniqueArray(fc.tuple(fc.nat(count - 1), strength), { selector: ([other]) => other, maxLength: 6 });
  return fc.record({
    shop: fc.constant(shop),
    rows: fc.array(row, { minLength: count, maxLength: count }),
    basket: fc.array(fc.nat(count - 1), { minLength: 1, maxLength: 5 }),
  });
});
type Rows = readonly (readonly (readonly [number, number])[])[];

function withRows(shop: RankedShop, rows: Rows): Snapshot {
  const start = [0];
  for (const row of rows) start.push(start.at(-1)! + row.length);
  const file = encodeTogether({
    itemCount: rows.length,
    start: Uint32Array.from(start),
    others: Uint32Array.from(rows.flat(), ([other]) => other),
    strengths: Float32Array.from([...rows.flat()], ([, strength]) => strength),
  });
  return { ...snapshotOf(shop), together: decodeTogether(file) };
}

const togetherWith = (basket: readonly number[], more: Partial<RankRequest> = {}): RankRequest => {
  const ids = basket.map((item) => String(item) as ItemId);
  return sessionRequest({ session: [], limit: 100, basket: ids, similarTo: ids.at(-1), relation: "together", ...more });
};

test("the list has what goes with the basket, by the sum of strengths, and its reasons; filters, pins and seen items hold", () =>
  fc.assert(
    fc.asyncProperty(shopWithRows, async ({ shop, rows, basket }) => {
      const snapshot = withRows(shop, rows);
      const sums = new Map<number, number>();
      for (const item of new Set(basket))
        for (const [other, own] of rows[item]!) sums.set(other, (sums.get(other) ?? 0) + own);
      for (const item of basket) sums.delete(item);
      const { items, strategy, reasons } = await rank(
        togetherWith(basket, { wanted: { scores: true, reasons: true } }),
        snapshot,
      );
      if (sums.size === 0) return void expect(strategy).toBe("similar");
      expect(strategy).toBe("together");
      expect([...items].sort((a, b) => a - b)).toEqual([...sums.keys()].sort((a, b) => a - b));
      for (const [i, item] of items.entries()) {
        expect(sums.get(item)!).toBeLessThanOrEqual((sums.get(items[i - 1]!) ?? Infinity) + 1e-6);
        const [first] = reasons![i]!;
        expect(basket).toContain(first!.item);
        const own = rows[first!.item]!.find(([other]) => other === item)![1];
        expect(first!.share).toBeCloseTo(own / sums.get(item)!, 1);
      }
      const filtered = await rank(togetherWith(basket, { filter: brandIs("a") }), snapshot);
      expect(filtered.items).toEqual(items.filter((item) => shop.brands[item] === "a"));
      const outside = [...shop.scores.keys()].find((item) => !sums.has(item))!;
      const pinned = [outside, items.at(-1)!].map((item) => String(item) as ItemId);
      const withPins = await rank(togetherWith(basket, { shaping: { pinned } }), snapshot);
      expect(withPins.items).toEqual([items.at(-1)!, ...items.slice(0, -1)]);
      const seen = { items: [], times: [], hasSeen: (item: number) => item === items[0] };
      const own = await rank(togetherWith(basket, { userId: "ann" as never }), {
        ...snapshot,
        userRecord: async () => seen,
      });
      expect(own.items).toEqual(items.slice(1));
    }),
  ));

const SHOP: RankedShop = { scores: [1, 5, 2, 3], brands: [null, null, null, null], tags: [[], [], [], []] };

test("without items that go with the basket the list is of similar items, and a basket is scored in one run", async () => {
  const runs: unknown[] = [];
  const score: Snapshot["score"] = async ({ items }) => {
    runs.push(items);
    return Float32Array.from(SHOP.scores);
  };
  const rows: Rows = [[[2, 1]], [], [], []];
  const snapshot = { ...withRows(SHOP, rows), score };
  expect(await rank(togetherWith([0]), snapshot)).toMatchObject({ items: [2], strategy: "together" });
  expect(runs).toEqual([]);
  expect(await rank(togetherWith([1, 3]), snapshot)).toMatchObject({ items: [2, 0], strategy: "similar" });
  expect(runs).toEqual([[1, 3]]);
  const old = { ...snapshot, together: null };
  expect(await rank(togetherWith([0]), old)).toMatchObject({ items: [1, 3, 2], strategy: "similar" });
  expect((await rank(togetherWith([0], { relation: undefined }), snapshot)).strategy).toBe("similar");
});

test("unknown ids of a basket are counted; a basket without known ids is refused", async () => {
  const snapshot = withRows(SHOP, [[[2, 1]], [], [], []]);
  expect(await rank(togetherWith([0, 77, 0]), snapshot)).toMatchObject({ items: [2], unknownItems: 1 });
  await expect(rank(togetherWith([77, 78]), snapshot)).rejects.toMatchObject({
    code: "item_not_found",
    errors: [{ pointer: "/item_ids" }],
  });
});
