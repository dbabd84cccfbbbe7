import { afterAll, beforeAll, expect, test } from "vitest";
import { SHOP_ITEMS, shopDataset } from "../fixtures/edge-shop.ts";
import { type EdgeWorld, startEdge } from "../fixtures/edge-world.ts";

let edge: EdgeWorld;
beforeAll(async () => {
  edge = await startEdge();
  const withdrawn = Uint8Array.from({ length: SHOP_ITEMS }, (_, item) => Number(item >= 5));
  await edge.publish({ dataset: { ...shopDataset(), withdrawn, listedCount: 5 } });
});
afterAll(() => edge.stop());

const listOf = async (path: string, body?: object) => {
  const answer = await edge.call(`/v0/models/shop/${path}`, body && { body });
  expect(answer.status).toBe(200);
  return (await answer.json()) as string[];
};
const WITHDRAWN = ["i5", "i6", "i7"];
const LISTED = ["i0", "i1", "i2", "i3", "i4"];

test("a withdrawn item is in no answer of any kind", async () => {
  const lists = await Promise.all([
    listOf("rank?limit=20"),
    listOf("rank", { limit: 20, interactions: [{ item_id: "i6" }] }), // a session with a withdrawn item still counts
    listOf("rank", { limit: 20, pinned: WITHDRAWN, exclude_seen: false }),
    listOf("rank", { limit: 20, item_ids: [...WITHDRAWN, "i2"] }),
    listOf("rank", { limit: 20, exploration: 1, seed: 3 }),
    listOf("rank", { limit: 20, diversity: 0.9, boosts: [{ retrieval: { price: { $gte: 50 } }, by: 10 }] }),
    listOf("rank", { limit: 20, retrieval: { item_id: { $in: WITHDRAWN } } }),
    listOf("similar_items?item_id=i4&limit=20"),
    listOf("rank?user_id=bob&limit=20"),
  ]);
  expect(lists.map((list) => list.filter((item) => WITHDRAWN.includes(item)))).toEqual(lists.map(() => []));
  expect(lists[0]!.toSorted()).toEqual(LISTED);
  expect(lists[1]![0]).toBe("i4"); // the neighbour of what the session has
  expect(lists[3]).toEqual(["i2"]);
  expect(lists[6]).toEqual([]);
});
