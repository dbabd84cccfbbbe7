import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ItemId, ItemIndex } from "../../../shared/ids.ts";
import type { Shaping } from "../../../shared/rank/compile-shaping.ts";
import { rank } from "../../../shared/rank.ts";
import { brandIs, type RankedShop, rankedShop, sessionRequest, snapshotOf } from "../../fixtures/ranked-shop.ts";

const limit = fc.integer({ min: 1, max: 12 });
const cap = fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined });
const pinned = fc.array(
  fc.nat(45).map((item) => String(item) as ItemId),
  { maxLength: 20 },
);
const boost = fc.option(fc.constant(0.5), { nil: undefined });

const shapingOf = (cap: number | undefined, pinned: ItemId[], boost: number | undefined): Shaping => ({
  ...(cap && { maxPerValue: new Map([["brand", cap]]) }),
  ...(boost && { boosts: [{ filter: brandIs("a"), by: boost }] }),
  pinned,
});

async function itemsAt(shop: RankedShop, page: { limit: number; offset?: number }, shaping?: Shaping) {
  const { items } = await rank(sessionRequest({ ...page, shaping }), snapshotOf(shop));
  return items;
}

/** The pages of a list, up to the first empty one. */
async function pagesOf(shop: RankedShop, limit: number, shaping?: Shaping): Promise<ItemIndex[]> {
  const items: ItemIndex[] = [];
  for (let offset = 0; ; offset += limit) {
    const page = await itemsAt(shop, { limit, offset }, shaping);
    if (page.length === 0) return items;
    items.push(...page);
  }
}

describe("pages", () => {
  test("of a plain list are the list of that length", () =>
    fc.assert(
      fc.asyncProperty(rankedShop, limit, fc.nat(60), async (shop, limit, offset) => {
        const whole = await itemsAt(shop, { limit: offset + limit });
        expect(await itemsAt(shop, { limit, offset })).toEqual(whole.slice(offset));
      }),
    ));

  test("with boosts, caps and pins are the list of that length, whatever their limits", () =>
    fc.assert(
      fc.asyncProperty(rankedShop, limit, fc.nat(60), cap, pinned, boost, async (shop, limit, offset, ...rules) => {
        const shaping = shapingOf(...rules);
        const whole = await itemsAt(shop, { limit: offset + limit }, shaping);
        expect(await itemsAt(shop, { limit, offset }, shaping)).toEqual(whole.slice(offset));
      }),
    ));

  test("with diversity and exploration begin with the first list, are disjoint, and reach every item", () => {
    const shares = fc.constantFrom([0.3, 0], [0, 0.4], [0.6, 0.2], [1, 1]);
    const seed = fc.nat(1000);
    const property = fc.asyncProperty(
      rankedShop,
      limit,
      shares,
      seed,
      pinned,
      async (shop, limit, shares, seed, pinned) => {
        const [diversity, exploration] = shares as [number, number];
        const shaping = { diversity, exploration, seed, pinned };
        const items = await pagesOf(shop, limit, shaping);
        expect(items.slice(0, limit)).toEqual(await itemsAt(shop, { limit }, shaping));
        expect(new Set(items).size).toBe(items.length);
        expect(items.length).toBe(shop.scores.length - 1); // without the session's item
      },
    );
    return fc.assert(property);
  });

  test("with diversity and caps keep to the caps together", () =>
    fc.assert(
      fc.asyncProperty(rankedShop, limit, fc.constantFrom(1, 2), async (shop, limit, max) => {
        const items = await pagesOf(shop, limit, { diversity: 0.5, maxPerValue: new Map([["brand", max]]) });
        const expected = await itemsAt(shop, { limit: 100 }, { maxPerValue: new Map([["brand", max]]) });
        expect([...items].sort()).toHaveLength(expected.length);
      }),
    ));
});
