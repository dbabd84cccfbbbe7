/** Items that the model does not know, behind those that it does. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { ItemId, ItemIndex } from "../../../shared/ids.ts";
import { type RankRequest, rank } from "../../../shared/rank.ts";
import type { History, Snapshot } from "../../../shared/snapshot.ts";
import { brandIs, type RankedShop, rankedShop, sessionRequest, snapshotOf } from "../../fixtures/ranked-shop.ts";

/** The last items of a shop as new ones: its model gives scores of the others only. */
function withNew(shop: RankedShop, newCount: number): Snapshot {
  const itemCount = shop.scores.length - newCount;
  return {
    ...snapshotOf(shop),
    itemCount,
    newCount,
    score: async () => Float32Array.from(shop.scores.slice(0, itemCount)),
  };
}
const part = ({ scores, brands, tags }: RankedShop, count: number): RankedShop => ({
  scores: scores.slice(0, count),
  brands: brands.slice(0, count),
  tags: tags.slice(0, count),
});
const wanted = { scores: true, reasons: false };

test("new items come last by score, and change no score, place or likeness of another item", async () => {
  const requests: fc.Arbitrary<Partial<RankRequest>> = fc.constantFrom<Partial<RankRequest>>(
    {},
    { session: [] },
    { filter: brandIs("a") },
    { shaping: { boosts: [{ filter: brandIs("b"), by: 0.5 }], maxPerValue: new Map([["brand", 60]]) } },
    { session: [], similarTo: "0" as ItemId },
  );
  const check = async (shop: RankedShop, added: RankedShop, request: Partial<RankRequest>, personalizes: boolean) => {
    const count = shop.scores.length;
    const all = { ...shop, ...mergedOf(shop, added) };
    const ask = { ...sessionRequest({ limit: 100, wanted }), ...request };
    const before = await rank(ask, { ...snapshotOf(shop), personalizes });
    const after = await rank(ask, { ...withNew(all, added.scores.length), personalizes });
    const kept = after.items.flatMap((item, i) => (item < count ? [[item, after.scores![i]]] : []));
    expect(kept).toEqual(before.items.map((item, i) => [item, before.scores![i]]));
    if (request.filter === undefined) expect(after.items.length).toBe(before.items.length + added.scores.length);
    if (!request.shaping && !request.similarTo) expect(after.items.slice(0, before.items.length)).toEqual(before.items);
  };
  await fc.assert(fc.asyncProperty(rankedShop, rankedShop, requests, fc.boolean(), check), { numRuns: 500 });
});
const mergedOf = (a: RankedShop, b: RankedShop): RankedShop => ({
  scores: [...a.scores, ...b.scores],
  brands: [...a.brands, ...b.brands],
  tags: [...a.tags, ...b.tags],
});

test("the extension's scores order new items, at most one in some places, and change nothing of another item", async () => {
  const every = 3;
  const requests = fc.constantFrom<Partial<RankRequest>>(
    {},
    { filter: brandIs("a") },
    { offset: 4 },
    { itemIds: ["0", "1", "2", "3", "4", "5", "6", "7", "8"] as ItemId[] },
  );
  const check = async (shop: RankedShop, added: RankedShop, request: Partial<RankRequest>) => {
    const count = shop.scores.length;
    const plain = withNew(mergedOf(shop, added), added.scores.length);
    const items = added.scores.map((_, at) => at).filter((at) => at % 4 !== 3);
    const placed = { every, items, scoresFrom: () => Float64Array.from(items, (at) => added.scores[at]!) };
    const ask = { ...sessionRequest({ limit: 100, wanted }), ...request };
    const [before, after] = [await rank(ask, plain), await rank(ask, { ...plain, placed })];
    const known = ({ items: list, scores }: typeof before) =>
      list.flatMap((item, i) => (item < count ? [[item, scores![i]]] : []));
    if (request.offset)
      expect(after.items).toEqual((await rank({ ...ask, offset: 0 }, { ...plain, placed })).items.slice(4));
    else expect(known(after)).toEqual(known(before));
    if (request.offset) return;
    const isPlaced = (item: ItemIndex) => item >= count && items.includes(item - count);
    const others = after.items.filter((item) => item < count).length;
    for (let end = 0; end <= others; end++)
      expect(after.items.slice(0, end).filter(isPlaced).length).toBeLessThanOrEqual(end / (every + 1));
    const ofNew = after.items.filter(isPlaced);
    const predicted = ofNew.map((item) => added.scores[item - count]!);
    expect(predicted).toEqual(predicted.toSorted((a, b) => b - a));
  };
  await fc.assert(fc.asyncProperty(rankedShop, rankedShop, requests, check), { numRuns: 300 });
});

/** Items 0 to 3 are known; 4 and 5 are new, and 5 has a brand of its own. */
const SHOP: RankedShop = {
  scores: [4, 3, 2, 1, 0, 0],
  brands: ["a", "b", "a", "b", "a", "z"],
  tags: [[], [], ["t"], [], ["t"], ["t"]],
};

test("items that are similar to a new one share its values, also where one value is its own", async () => {
  const likeNew = async (item: number) =>
    (await rank(sessionRequest({ session: [], similarTo: String(item) as ItemId, limit: 2 }), withNew(SHOP, 2))).items;
  expect(await likeNew(4)).toEqual([2, 5]);
  expect((await likeNew(5))[0]).toBe(2);
});

test("a new item that is like a known one stands behind the tenth of its similar items, and one that is less so does not", async () => {
  const count = 42;
  const many: RankedShop = {
    scores: Array.from({ length: count }, (_, i) => count - i),
    brands: Array.from({ length: count }, (_, i) => "abcd"[i % 4]!),
    tags: Array.from({ length: count }, (_, i) => [i % 2 ? "odd" : "even"]),
  };
  const added = {
    scores: [0, 0, 0, 0],
    brands: ["b", "a", "a", "a"],
    tags: [["even"], ["even", "odd", "own"], ["even"], ["even"]],
  };
  const snapshot = withNew(mergedOf(many, added), 4);
  const listOf = async (more: Partial<Snapshot> = {}) => {
    const request = sessionRequest({ session: [], similarTo: "0" as ItemId, limit: 50 });
    return (await rank(request, { ...snapshot, ...more })).items;
  };
  const from = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, i) => first + i);
  expect(await listOf()).toEqual([...from(1, 10), 44, ...from(11, 20), 45, ...from(21, 30), 43, ...from(31, 42)]);
  const isHidden = (item: ItemIndex) => item === 44 || item === 3;
  const shown = [1, 2, ...from(4, 11), 45, ...from(12, 21), 43, ...from(22, 42)];
  expect(await listOf({ isHidden })).toEqual(shown);
});

test("the model reads no new item of a history, whether stored, live or of the session", async () => {
  const read: History[] = [];
  const snapshot: Snapshot = {
    ...withNew(SHOP, 2),
    userRecord: async () => ({ items: [4, 1] as ItemIndex[], times: [5, 6], hasSeen: (item) => item === 4 }),
    score: async (history) => {
      read.push(history);
      return Float32Array.of(4, 3, 2, 1);
    },
  };
  const request = sessionRequest({ userId: "ann" as never, session: ["5" as ItemId, "0" as ItemId] });
  const { items, ignoredInteractions, history } = await rank(request, snapshot);
  expect(read.map((one) => one.items)).toEqual([[1, 0]]);
  expect(history.items).toEqual([1, 0]);
  expect([items, ignoredInteractions]).toEqual([[1, 2, 3], 1]); // seen or of the session: 4, 5 and 0
});

test("a new item is drawn by exploration at any place of the new ones, as an item of the mean score", async () => {
  const shop = mergedOf(part(SHOP, 4), {
    scores: Array(200).fill(0),
    brands: Array(200).fill("n"),
    tags: Array(200).fill([]),
  });
  const drawn = new Set<ItemIndex>();
  for (let seed = 0; seed < 300; seed++) {
    const request = sessionRequest({ limit: 1, shaping: { exploration: 1, seed } });
    drawn.add((await rank(request, withNew(shop, 200))).items[0]!);
  }
  expect(Math.max(...drawn)).toBeGreaterThan(150);
  expect(drawn.size).toBeGreaterThan(60);
  expect([...drawn].some((item) => item < 4)).toBe(true);
});
