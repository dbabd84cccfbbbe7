/** Items that the live version was not trained with, in a real workerd: sent, shown in lists at once, and dropped as new later. */
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { packStrings } from "../../../shared/packed-strings.ts";
import type { Dataset } from "../../../trainer/read/dataset/dataset.ts";
import { activate } from "../../../trainer/store/versions.ts";
import { shopDataset, similarityModel } from "../../fixtures/edge-shop.ts";
import { type EdgeWorld, startEdge } from "../../fixtures/edge-world.ts";

let edge: EdgeWorld;
beforeAll(async () => {
  edge = await startEdge({ vars: { ITEMS_TIMEOUT_MS: 20_000 } });
});
afterAll(() => edge?.stop());

let models = 0;
let model: string;
let first: string;
beforeEach(async () => {
  model = `new-${models++}`;
  first = (await edge.publish({ modelName: model })).version;
});

type Change = { item_id: string | number; attributes?: object | null; hidden?: boolean; at?: string };
const pathOf = (rest = "") => `/v0/models/${model}/items${rest}`;
const patch = (...items: Change[]) => edge.call(pathOf(), { method: "PATCH", body: { items } });
const changed = async (...items: Change[]) => {
  const answer = await patch(...items);
  expect([answer.status, answer.status === 200 ? "" : await answer.text()]).toEqual([200, ""]);
  return (await answer.json()) as object;
};
const answerOf = (body: object, call = "rank") => edge.call(`/v0/models/${model}/${call}`, { body });
const textOf = async (body: object, call?: string) => (await answerOf(body, call)).text();
const list = async (body: object, call?: string) => JSON.parse(await textOf(body, call)) as string[];
const view = async (id: string) => (await edge.call(pathOf(`/${id}`))).json();
const untilLive = (version: string) =>
  expect.poll(async () => (await answerOf({})).headers.get("x-model-version")).toBe(version);
const ago = (seconds: number) => new Date(Date.now() - seconds * 1000).toISOString();
const LAMP = { item_id: "lamp", attributes: { category: "shoes", price: 5 } };
const ADDED = { changed: 1, ignored: 0, new: 1, placed: "after_training" };

test("an unknown item with attributes is in lists at once", async () => {
  expect(await list({ item_ids: ["lamp", "i1"] })).toEqual(["i1"]);
  expect(await changed(LAMP, { item_id: "i1", attributes: { price: 11 } })).toEqual({ ...ADDED, changed: 2 });
  expect((await list({})).at(-1)).toBe("lamp");
  expect((await list({ interactions: [{ item_id: "i0" }] })).at(-1)).toBe("lamp");
  expect((await list({ user_id: "bob" })).at(-1)).toBe("lamp");
  expect(await list({ retrieval: { price: { $gt: 0, $lte: 9 } } })).toEqual(["lamp"]);
  expect(await list({ retrieval: { item_id: { $in: ["lamp", "i1"] } } })).toEqual(["i1", "lamp"]);
  expect(await list({ retrieval: { item_id: { $gt: "i7" } } })).toEqual(["lamp"]);
  expect((await list({ pinned: ["lamp"], limit: 2 }))[0]).toBe("lamp");
  expect(await list({ item_ids: ["lamp", "i1"] })).toEqual(["i1", "lamp"]);
  expect((await list({ boosts: [{ retrieval: { price: 5 }, by: 10 }] }))[0]).toBe("lamp");
  expect(await list({ max_per_value: { category: 1 }, retrieval: { price: { $in: [5, 20] } } })).toEqual(["i2"]);
  const shown = JSON.parse(await textOf({ pinned: ["lamp"], limit: 1, return: ["metadata", "scores"] }));
  expect(shown.items).toEqual([{ item_id: "lamp", score: expect.any(Number), metadata: LAMP.attributes }]);
});

test("exploration shows a new item to some callers", async () => {
  await changed(LAMP);
  const tops = await Promise.all(
    Array.from({ length: 40 }, (_, seed) =>
      list({ exploration: 1, seed, limit: 1, interactions: [{ item_id: "i0" }] }),
    ),
  );
  const shown = tops.flat().filter((id) => id === "lamp").length;
  expect(shown).toBeGreaterThan(0);
  expect(shown).toBeLessThan(40);
});

test("similar items of a new item have its attribute values, and it is no history of a user", async () => {
  await changed(LAMP);
  const similar = await list({ item_id: "lamp", limit: 4 }, "similar_items");
  expect(similar.sort()).toEqual(["i0", "i2", "i4", "i6"]);
  const interactions = [{ item_id: "i3" }, { item_id: "lamp" }];
  const answer = await answerOf({ interactions });
  expect(answer.headers.get("x-ignored-interactions")).toBe("1");
  expect(await answer.json()).toEqual(
    (await list({ interactions: [{ item_id: "i3" }] })).filter((id) => id !== "lamp"),
  );
  const alone = await answerOf({ interactions: [{ item_id: "lamp" }] });
  expect(alone.headers.get("x-rank-strategy")).toBe("popular");
  expect(await alone.json()).toHaveLength(8);
});

test("an item like another is in the other's similar items at once", async () => {
  const itemCount = 40;
  const rows = Array.from({ length: itemCount }, (_, row) => row);
  const [category, price] = shopDataset().itemAttributes;
  const dataset = {
    ...shopDataset(),
    itemCount,
    itemIds: packStrings(rows.map((row) => `i${row}`)),
    itemAttributes: [
      { ...category, start: Uint32Array.of(...rows, itemCount), codes: Uint32Array.from(rows, (row) => row % 2) },
      { ...price, values: Float64Array.from(rows) },
    ] as Dataset["itemAttributes"],
  };
  const table = Float32Array.from({ length: itemCount ** 2 }, (_, at) => -Math.abs((at % itemCount) - at / itemCount));
  await untilLive(
    (await edge.publish({ modelName: model, dataset, exported: similarityModel(itemCount, table) })).version,
  );
  const before = await list({ item_id: "i3", limit: 15 }, "similar_items");
  await changed({ item_id: "lamp", attributes: { category: "hats", price: 3 } }, { ...LAMP, item_id: "shoe" });
  const after = await list({ item_id: "i3", limit: 16 }, "similar_items");
  expect(after).toEqual([...before.slice(0, 10), "lamp", ...before.slice(10)]);
});

test("all other items keep their scores, places and reasons, byte for byte", async () => {
  const bodies: [object, string?][] = [
    [{ user_id: "bob" }],
    [{ user_id: "7", exclude_seen: false }],
    [{}],
    [{ interactions: [{ item_id: "i0" }, { item_id: "i6" }], boosts: [{ retrieval: { category: "hats" }, by: 0.7 }] }],
    [{ interactions: [{ item_id: "i4" }], max_per_value: { category: 2 } }],
    [{ item_id: "i3" }, "similar_items"],
    [{ retrieval: { price: { $gte: 20 } } }],
  ];
  const answers = async () =>
    Promise.all(
      bodies.map(async ([body, call]) => {
        const { items } = JSON.parse(await textOf({ ...body, return: ["scores", "reasons", "metadata"] }, call));
        const others = (items as { item_id: string }[]).filter(({ item_id }) => !item_id.startsWith("lamp"));
        return JSON.stringify(others);
      }),
    );
  const before = await answers();
  const lamps = Array.from({ length: 300 }, (_, i) => ({
    item_id: `lamp-${i}`,
    attributes: { category: i % 2 ? "lamps" : "aaa", price: i / 7 - 10 },
  }));
  await changed(...lamps);
  expect(await list({ retrieval: { category: "lamps" }, limit: 500 })).toHaveLength(150);
  expect(await answers()).toEqual(before);
});

test("a new item is shown, changed, hidden and withdrawn like others", async () => {
  const at = ago(20);
  await changed({ ...LAMP, at });
  expect(await view("lamp")).toEqual({
    item_id: "lamp",
    hidden: false,
    new: true,
    new_since: at,
    placed: false,
    attributes: {
      category: { value: "shoes", source: null, changed_at: at },
      price: { value: 5, source: null, changed_at: at },
    },
    interactions: 0,
    positives: 0,
    similar_items: expect.any(Array),
    version: first,
  });
  expect(await changed({ item_id: "lamp", attributes: { price: 6 } })).toEqual(ADDED);
  expect(await list({ retrieval: { price: 6, category: "shoes" } })).toEqual(["lamp"]);
  expect(await changed({ item_id: "lamp", hidden: true })).toEqual(ADDED);
  expect(await list({ pinned: ["lamp"] })).not.toContain("lamp");
  await changed({ item_id: "lamp", hidden: false });
  expect(await list({})).toContain("lamp");
  expect(await changed({ item_id: "lamp", attributes: null })).toEqual({ changed: 1, ignored: 0 });
  expect(await list({ pinned: ["lamp"] })).not.toContain("lamp");
  expect((await edge.call(pathOf("/lamp"))).status).toBe(404);
  await changed(LAMP);
  expect(await list({ retrieval: { price: 5 } })).toEqual(["lamp"]);
});

test.each<[string, Change[], string]>([
  ["without attributes", [{ item_id: "x", hidden: true }], "/items/0/item_id"],
  ["with no attribute", [LAMP, { item_id: "x", attributes: {} }], "/items/1/item_id"],
  ["whose attributes are withdrawn", [LAMP, { item_id: "x", attributes: null }], "/items/1/item_id"],
  ["with a value of a wrong type", [LAMP, { item_id: "x", attributes: { price: "1" } }], "/items/1/attributes/price"],
])("an unknown item %s is refused, and nothing of the request is stored", async (_, items, pointer) => {
  const answer = await patch(...items);
  expect(answer.status).toBe(400);
  expect(await answer.json()).toMatchObject({ errors: [{ pointer }] });
  expect(await list({})).not.toContain("lamp");
});

test("an id of another type than the version's is refused", async () => {
  await changed(LAMP);
  const { version } = await edge.publish({ modelName: model, dataset: shopDataset("integer") });
  await untilLive(version);
  expect(await list({})).toHaveLength(8); // the lamp has no place among numbers
  expect((await patch({ item_id: "x", attributes: { price: 1 } })).status).toBe(400);
  expect(await changed({ item_id: 12, attributes: { price: 1 } })).toEqual(ADDED);
  expect(await list({ retrieval: { item_id: { $lt: 101 } } })).toEqual([100, 12]);
});

test("a version with data that are new enough drops the item, and a roll-back shows it again", async () => {
  await changed({ ...LAMP, at: ago(100) });
  const since = Math.floor(Date.now() / 1000) - 50;
  const { version } = await edge.publish({ modelName: model, changesFrom: since });
  await untilLive(version);
  expect(await list({ pinned: ["lamp"] })).not.toContain("lamp");
  expect((await edge.call(pathOf("/lamp"))).status).toBe(404);
  await activate(edge.store, { customer: "acme", modelName: model }, { version: first, nowMs: Date.now() });
  await untilLive(first);
  expect((await list({ pinned: ["lamp"] }))[0]).toBe("lamp");
});

test("10,000 items can be new, and those that the live version has by now do not count", async () => {
  const some = (from: number, count: number) =>
    Array.from({ length: count }, (_, i) => ({ item_id: `n${from + i}`, attributes: { price: 7 } }));
  for (let from = 0; from < 10_000; from += 1000) await changed(...some(from, 1000));
  const answer = await patch(LAMP, { item_id: "i1", hidden: true });
  expect(answer.status).toBe(409);
  expect(await answer.json()).toMatchObject({ code: "quota_exceeded" });
  expect(await list({})).toContain("i1");
  await changed({ item_id: "n7", attributes: null });
  expect(await changed(LAMP)).toEqual(ADDED);
  expect((await patch({ item_id: "another", attributes: { price: 1 } })).status).toBe(409);
  expect(await list({ retrieval: { price: 7 }, limit: 500 })).toHaveLength(500);
  const itemIds = packStrings(Array.from({ length: 8 }, (_, i) => `n${i}`));
  const { version } = await edge.publish({ modelName: model, dataset: { ...shopDataset(), itemIds } });
  await untilLive(version);
  expect(await changed({ item_id: "another", attributes: { price: 1 } })).toEqual(ADDED);
  expect(await list({ retrieval: { price: { $in: [1, 5] } } })).toEqual(["another", "lamp"]);
}, 60_000);
