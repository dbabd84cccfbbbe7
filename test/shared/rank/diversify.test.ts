import fc from "fast-check";
import { expect, test } from "vitest";
import type { ItemIndex } from "../../../shared/ids.ts";
import { attributeLikeness } from "../../../shared/rank/attribute-likeness.ts";
import { diversify, type Likeness } from "../../../shared/rank/diversify.ts";
import { rankedShop, snapshotOf, sortedItems } from "../../fixtures/ranked-shop.ts";

/** Maximal marginal relevance by its definition: every likeness is computed anew for every place. */
function reference(
  pool: readonly number[],
  relevance: readonly number[],
  weight: number,
  count: number,
  likeness: Likeness,
) {
  const chosen: number[] = [];
  const left = [...pool.keys()];
  while (chosen.length < count && left.length > 0) {
    const gains = left.map(
      (at) => (1 - weight) * relevance[at]! - weight * Math.max(0, ...chosen.map((above) => likeness(above)[at]!)),
    );
    chosen.push(...left.splice(gains.indexOf(Math.max(...gains)), 1));
  }
  return [...chosen, ...left].map((at) => pool[at]);
}

test("the list is that of the definition", () =>
  fc.assert(
    fc.property(rankedShop, fc.integer({ min: 1, max: 15 }), fc.constantFrom(0.2, 0.5, 1), (shop, count, weight) => {
      const pool = sortedItems(shop);
      const likeness = attributeLikeness(snapshotOf(shop).attributes, pool);
      const of = (item: number) => shop.scores[item]!;
      const span = pool.length > 1 ? of(pool[0]!) - of(pool.at(-1)!) : 0;
      const relevance = pool.map((item) => (span > 0 ? (of(item) - of(pool.at(-1)!)) / span : 0));
      const found = diversify(pool, Float32Array.from(shop.scores), { weight, count, likeness });
      expect(found).toEqual(pool.length < 2 ? pool : reference(pool, relevance, weight, count, likeness));
    }),
  ));

test("likeness is between 0 and 1, symmetric, and 1 for equal values that several items share", () =>
  fc.assert(
    fc.property(rankedShop, (shop) => {
      const pool = [...shop.scores.keys()] as ItemIndex[];
      const likeness = attributeLikeness(snapshotOf(shop).attributes, pool);
      const isSame = (a: number, b: number) =>
        shop.brands[a] === shop.brands[b] && [...shop.tags[a]!].sort().join() === [...shop.tags[b]!].sort().join();
      const isFault = (a: ItemIndex, b: ItemIndex) => {
        const hasAny = shop.brands[a] !== null || shop.tags[a]!.length > 0;
        const [there, back] = [likeness(a)[b]!, likeness(b)[a]!];
        if (Math.abs(there - back) > 1e-9 || there < 0 || there > 1 + 1e-9) return true;
        return a !== b && hasAny && isSame(a, b) && there < 1 - 1e-9;
      };
      expect(pool.flatMap((a) => pool.filter((b) => isFault(a, b)).map((b) => [a, b]))).toEqual([]);
    }),
  ));
