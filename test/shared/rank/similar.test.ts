import { describe, expect, test } from "vitest";
import type { ItemId, ItemIndex } from "../../../shared/ids.ts";
import { rank } from "../../../shared/rank.ts";
import { decodeSimilarity, encodeSimilarity } from "../../../shared/similarity.ts";
import type { Snapshot } from "../../../shared/snapshot.ts";
import { type RankedShop, sessionRequest, snapshotOf } from "../../fixtures/ranked-shop.ts";

/** Items 0 and 1 are popular; 2 follows 3. Items 4 and 5 are new. */
const SHOP: RankedShop = {
  scores: [9, 8, 3, 0, 0, 0],
  brands: ["a", "b", "c", "c", "d", "d"],
  tags: [[], [], [], [], [], []],
};
const KNOWN = 4;
/** What the model usually says: popular items are high after every item. */
const usual = encodeSimilarity({
  knownCount: KNOWN,
  mean: Float32Array.of(1.6, 1.3, -0.9, -0.9, -0.9, -0.9),
  deviation: Float32Array.of(0.3, 0.3, 0.1, 0.1, 0, 0),
});
const snapshot: Snapshot = { ...snapshotOf(SHOP), similarity: decodeSimilarity(usual) };

async function similarTo(item: number, more: Partial<Snapshot> = {}, user?: string) {
  const request = sessionRequest({ similarTo: String(item) as ItemId, limit: 3, userId: user as never });
  const { items, strategy } = await rank({ ...request, session: [] }, { ...snapshot, ...more });
  return { items, strategy };
}

test("items that the model favours more than usual come first, and the item itself never", async () => {
  expect((await similarTo(3)).items[0]).toBe(2);
  expect((await similarTo(2)).items).not.toContain(2);
  const sessions = { repeats: true };
  expect((await similarTo(0, { sessions, similarity: null })).items).not.toContain(0);
  const plain = await rank(sessionRequest({ session: ["3" as ItemId], limit: 3 }), snapshot);
  expect(plain.items[0]).toBe(0);
});

test("a version without the statistics uses the model's scores", async () =>
  expect(await similarTo(3, { similarity: null })).toEqual({ items: [0, 1, 2], strategy: "similar" }));

describe("where the model cannot tell, attributes decide", () => {
  test("for an item that nobody has chosen", async () =>
    expect(await similarTo(4)).toMatchObject({ items: [5, 0, 1], strategy: "similar" }));
  test("for a model that ignores the user", async () =>
    expect((await similarTo(3, { personalizes: false })).items[0]).toBe(2));
  test("and equal values come before a part of them", async () => {
    const common = Array<string[]>(6).fill(["c"]);
    const tags = [["a", "b", "c"], ["a", "b"], ["a", "b", "c"], ...common];
    const shop = snapshotOf({ scores: tags.map(() => 1), brands: tags.map(() => null), tags });
    const list = await rank(
      { ...sessionRequest({ similarTo: "0" as ItemId }), session: [] },
      { ...shop, personalizes: false },
    );
    expect(list.items.slice(0, 2)).toEqual([2, 1]);
  });
  test("together with what the same users chose", async () => {
    const statistics = { knownCount: KNOWN, mean: new Float32Array(6), deviation: new Float32Array(6) };
    const neighbours = { perItem: 2, items: Uint32Array.of(1, 5, 0, 5), strengths: Float32Array.of(0.4, 0.8, 0.4, 0) };
    const similarity = decodeSimilarity(encodeSimilarity({ ...statistics, neighbours }));
    const ignorant = { personalizes: false, similarity };
    expect((await similarTo(0, { ...ignorant, attributes: null })).items).toEqual([5, 1, 2]);
    expect((await similarTo(0, ignorant)).items.slice(0, 2)).toEqual([5, 1]);
    expect(await similarTo(1, { ...ignorant, attributes: null })).toEqual({ items: [0, 2, 3], strategy: "similar" });
    expect((await similarTo(2, ignorant)).items[0]).toBe(3); // only its attributes tell
    expect((await similarTo(3, { ...ignorant, attributes: null })).strategy).toBe("popular");
    expect((await similarTo(0, { similarity })).items).not.toContain(5); // a model that can tell decides alone
  });
  test("and without them the answer is popular items", async () =>
    expect(await similarTo(4, { attributes: null })).toEqual({ items: [0, 1, 2], strategy: "popular" }));
});

test("with a user, items that the user has seen are left out, and the user's history does not matter", async () => {
  const record = { items: [0] as ItemIndex[], times: [1], hasSeen: (item: ItemIndex) => item === 2 };
  expect((await similarTo(3, { userRecord: async () => record }, "ann")).items).not.toContain(2);
  const runs: unknown[] = [];
  const score: Snapshot["score"] = async ({ items }) => {
    runs.push(items);
    return Float32Array.from(SHOP.scores);
  };
  await similarTo(3, { userRecord: async () => record, score }, "ann");
  expect(runs).toEqual([[3]]);
});

test("an unknown item is refused", async () =>
  expect(similarTo(77)).rejects.toMatchObject({ code: "item_not_found", errors: [{ pointer: "/item_id" }] }));
