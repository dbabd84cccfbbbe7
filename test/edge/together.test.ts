/** What is chosen together with an item or a basket, on the real Worker: right, wrong and hostile. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { packStrings } from "../../shared/packed-strings.ts";
import type { Dataset } from "../../trainer/read/dataset/dataset.ts";
import { shopDataset } from "../fixtures/edge-shop.ts";
import { CACHING, type EdgeWorld, startEdge } from "../fixtures/edge-world.ts";

const HOUR = 3600;
let edge: EdgeWorld;
beforeAll(async () => {
  edge = await startEdge({ vars: CACHING });
  await edge.publish({ dataset: shopWithBaskets(1) });
  await edge.publish({ modelName: "single", dataset: shopWithBaskets(100) });
});
afterAll(() => edge?.stop());

/** Users who chose i0 and i1 often, i0, i3 and i6 sometimes, and i2 alone, with so many hours between the items of a basket. */
function shopWithBaskets(hours: number): Dataset {
  const users = [
    ...Array.from({ length: 12 }, () => [0, 1]),
    ...Array.from({ length: 5 }, () => [0, 3, 6]),
    ...Array.from({ length: 40 }, () => [2]),
  ];
  const rows = users.flatMap((items) => items.map((item, at) => ({ item, time: 1_700_000_000 + at * hours * HOUR })));
  const userStart = new Uint32Array(users.length + 1);
  for (const [user, items] of users.entries()) userStart[user + 1] = userStart[user]! + items.length;
  return {
    ...shopDataset(),
    userCount: users.length,
    userIds: packStrings(users.map((_, user) => `u${user}`)),
    userStart,
    items: Int32Array.from(rows, ({ item }) => item),
    times: Uint32Array.from(rows, ({ time }) => time),
    positive: new Uint8Array(rows.length).fill(1),
  };
}

const SIMILAR = "/v0/models/shop/similar_items";
async function ask(body: object | string, path = SIMILAR) {
  const answer = typeof body === "string" ? await edge.call(`${path}?${body}`) : await edge.call(path, { body });
  const [strategy, unknown] = ["x-rank-strategy", "x-unknown-items"].map((name) => answer.headers.get(name));
  return { status: answer.status, items: (await answer.json()) as string[], strategy, unknown };
}
const together = (item_ids: readonly (string | number)[], more: object = {}) =>
  ask({ item_ids, relation: "together", ...more });

test("the list has only what goes with the items, the strongest first", async () => {
  expect(await together(["i0"])).toMatchObject({ items: ["i1", "i3", "i6"], strategy: "together", unknown: "0" });
  expect(await ask({ item_id: "i0", relation: "together" })).toMatchObject({
    items: ["i1", "i3", "i6"],
    unknown: null,
  });
  expect((await together(["i0", "i6"])).items).toEqual(["i3", "i1"]);
  expect((await ask("item_ids=i0,i6&relation=together")).items).toEqual(["i3", "i1"]);
  expect((await together(["i0", "i6"], { limit: 1, offset: 1 })).items).toEqual(["i1"]);
  expect((await together(["i0"], { retrieval: { category: "shoes" } })).items).toEqual(["i6"]);
  expect((await together(["i0"], { user_id: "u13" })).items).toEqual(["i1"]);
  expect((await together(["i0"], { pinned: ["i6", "i7"] })).items).toEqual(["i6", "i1", "i3"]);
});

test("the answer says where its items come from", async () => {
  const answer = await edge.call(SIMILAR, {
    body: { item_ids: ["i0", "i6"], relation: "together", return: ["reasons"] },
  });
  const { items, strategy } = (await answer.json()) as {
    items: { reasons: { item_id: string; share: number }[] }[];
    strategy: string;
  };
  expect(strategy).toBe("together");
  expect(items[0]!.reasons.map(({ item_id }) => item_id).sort()).toEqual(["i0", "i6"]);
  expect(items[0]!.reasons[0]!.share + items[0]!.reasons[1]!.share).toBeCloseTo(1, 3);
});

test("without anything that goes with the items, and in data without baskets, the answer is similar items and says so", async () => {
  const alone = await together(["i2"]);
  expect(alone).toMatchObject({ strategy: "similar", items: (await ask({ item_id: "i2" })).items });
  const single = "/v0/models/single/similar_items";
  expect(await ask({ item_ids: ["i0"], relation: "together" }, single)).toMatchObject({
    strategy: "similar",
    items: (await ask({ item_id: "i0" }, single)).items,
  });
});

test("a basket without a relation gets what is similar to all of its items", async () => {
  const { items, strategy } = await ask({ item_ids: ["i2", "i4"] });
  expect([items[0], strategy]).toEqual(["i3", "similar"]);
  expect(items).not.toContain("i2");
  expect(items).not.toContain("i4");
  expect((await ask({ item_ids: ["i3"] })).items).toEqual((await ask({ item_id: "i3" })).items);
});

test("hidden items are in no list", async () => {
  const hide = (hidden: boolean) =>
    edge.call("/v0/models/shop/items", { method: "PATCH", body: { items: [{ item_id: "i1", hidden }] } });
  expect((await hide(true)).status).toBe(200);
  expect((await together(["i0"])).items).toEqual(["i3", "i6"]);
  await hide(false);
});

test("unknown ids of a basket are skipped and counted; one without known ids is not found", async () => {
  expect(await together(["i0", "nothing", 7])).toMatchObject({ items: ["i1", "i3", "i6"], unknown: "2" });
  expect(await together(["nothing", "else"])).toMatchObject({ status: 404, items: { code: "item_not_found" } });
});

test.each<[object, string, string]>([
  [{}, "missing_field", "/item_id"],
  [{ item_id: "i0", item_ids: ["i1"] }, "invalid_parameter", "/item_ids"],
  [{ item_ids: [] }, "invalid_parameter", "/item_ids"],
  [{ item_ids: Array(21).fill("i0") }, "invalid_parameter", "/item_ids"],
  [{ item_ids: "i0" }, "invalid_parameter", "/item_ids"],
  [{ item_ids: [["i0"]] }, "invalid_parameter", "/item_ids/0"],
  [{ item_id: "i0", relation: "instead" }, "invalid_parameter", "/relation"],
  [{ item_id: "i0", relation: null }, "invalid_parameter", "/relation"],
])("%j is refused", async (body, code, pointer) => {
  const answer = await edge.call(SIMILAR, { body });
  const problem = (await answer.json()) as { code: string; errors: { pointer: string }[] };
  expect([answer.status, problem.code, problem.errors[0]!.pointer]).toEqual([400, code, pointer]);
});
