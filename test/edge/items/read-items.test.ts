/** Items that are found and shown, in a real workerd. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { blobKey } from "../../../shared/manifest.ts";
import type { BuiltVersion } from "../../../trainer/store/version-files.ts";
import { type EdgeWorld, startEdge } from "../../fixtures/edge-world.ts";

let edge: EdgeWorld;
beforeAll(async () => {
  edge = await startEdge({ vars: { READ_TIMEOUT_MS: 300 } });
});
afterAll(() => edge?.stop());
afterEach(() => edge.inject(undefined));

let models = 0;
let model: string;
let built: BuiltVersion;
beforeEach(async () => {
  model = `shop-${models++}`;
  built = await edge.publish({ modelName: model });
});

type Found = { items: { item_id: string; hidden: boolean; attributes: object }[]; total: number; version: string };
const pathOf = (rest = "") => `/v0/models/${model}/items${rest}`;
const change = async (...items: object[]) => {
  expect((await edge.call(pathOf(), { method: "PATCH", body: { items } })).status).toBe(200);
};
const find = async (query: Record<string, string | number | object>) => {
  const texts = Object.entries(query).map(([name, value]) => [
    name,
    typeof value === "object" ? JSON.stringify(value) : String(value),
  ]);
  const answer = await edge.call(pathOf(`?${new URLSearchParams(texts)}`));
  expect([answer.status, answer.status === 200 ? "" : await answer.text()]).toEqual([200, ""]);
  return (await answer.json()) as Found;
};
const ids = async (query: Parameters<typeof find>[0]) => (await find(query)).items.map(({ item_id }) => item_id);
const view = async (id: string) => (await (await edge.call(pathOf(`/${id}`))).json()) as Record<string, unknown>;

test("items are found by words in ids and texts and by a filter, and counted on all pages", async () => {
  expect(await find({ search: "I3" })).toEqual({
    items: [{ item_id: "i3", hidden: false, attributes: { category: "hats", price: 30 } }],
    total: 1,
    version: built.version,
  });
  expect(await find({ search: "HAT", limit: 2 })).toMatchObject({
    items: [{ item_id: "i1" }, { item_id: "i3" }],
    total: 4,
  });
  expect(await ids({ search: "hat", limit: 2, offset: 2 })).toEqual(["i5", "i7"]);
  expect(await ids({ search: "shoes", retrieval: { price: { $gte: 40 } } })).toEqual(["i4", "i6"]);
  expect(await find({})).toMatchObject({ items: Array(8).fill({ hidden: false }), total: 8 });
});

test("changed values, hidden items and new ones are found as rank calls see them", async () => {
  await change(
    { item_id: "i3", attributes: { category: "lamps" }, hidden: true },
    { item_id: "lamp", attributes: { category: "desk lamps", price: 5 } },
    { item_id: "gone", attributes: { category: "lamps" } },
  );
  expect(await ids({ search: "lamps" })).toEqual(["i3", "gone", "lamp"]); // the isolate has them in memory
  await change({ item_id: "gone", attributes: null });
  expect((await find({ search: "lamp" })).items).toEqual([
    { item_id: "lamp", hidden: false, new: true, attributes: { category: "desk lamps", price: 5 } },
    { item_id: "i3", hidden: true, attributes: { category: "lamps", price: 30 }, changed: ["category"] },
  ]);
  expect(await ids({ search: "hats" })).toEqual(["i1", "i5", "i7"]);
  await change({ item_id: "lamp", hidden: true });
  expect((await find({ search: "lamp" })).items[0]).toMatchObject({ item_id: "lamp", hidden: true, new: true });
  expect((await find({})).total).toBe(9);
});

test("an item's page has its interactions and the items that are similar, without hidden ones", async () => {
  const shown = await view("i0");
  expect(shown).toMatchObject({ interactions: 2, positives: 2, version: built.version });
  expect(shown.similar_items).toHaveLength(7);
  expect(await view("i4")).toMatchObject({ interactions: 2, positives: 1 });
  const similar = await edge.call(`/v0/models/${model}/similar_items?item_id=i0&limit=10`);
  const listed = shown.similar_items as Found["items"];
  expect(listed.map(({ item_id }) => item_id)).toEqual(await similar.json());
  await change(
    { item_id: listed[0]!.item_id, hidden: true },
    { item_id: listed[1]!.item_id, attributes: { price: 1 } },
  );
  expect((await view("i0")).similar_items).toEqual([
    { ...listed[1], attributes: expect.objectContaining({ price: 1 }), changed: ["price"] },
    ...listed.slice(2),
  ]);
});

test("a new item has no interactions, and an item without similar ones shows none", async () => {
  await change({ item_id: "lamp", attributes: { category: "lamps", price: 5 } });
  expect(await view("lamp")).toMatchObject({ new: true, interactions: 0, positives: 0, similar_items: [] });
});

test("counts that cannot be read are a 503, and searching goes on", async () => {
  const { digest } = built.manifest.item_counts!;
  await edge.store.delete(blobKey("acme", model, digest));
  expect((await edge.call(pathOf("/i1"))).status).toBe(503);
  expect((await find({ search: "i1" })).total).toBe(1);
});

test("while changes cannot be read, nothing is found: a hidden item could be shown as another", async () => {
  await change({ item_id: "i2", hidden: true });
  await edge.inject({ keys: "/items/", kind: "error" });
  expect((await edge.call(pathOf("?search=i2"))).status).toBe(503);
});

test("wrong filters name their fault, and a reference without a value passes nothing", async () => {
  const faultOf = async (retrieval: object) => {
    const answer = await edge.call(pathOf(`?retrieval=${encodeURIComponent(JSON.stringify(retrieval))}`));
    const { code, errors } = (await answer.json()) as { code: string; errors: { pointer: string }[] };
    return [answer.status, code, errors[0]!.pointer];
  };
  expect(await faultOf({ colour: "red" })).toEqual([400, "unknown_attribute", "/retrieval/colour"]);
  expect(await faultOf({ price: "x" })).toEqual([400, "filter_type_mismatch", "/retrieval/price"]);
  const retrieval = encodeURIComponent('{"category":{"$user":"likes"}}');
  const answer = await edge.call(pathOf(`?retrieval=${retrieval}`));
  expect([answer.headers.get("x-missing-references"), await answer.json()]).toMatchObject([
    "$user.likes",
    { total: 0 },
  ]);
});

test("the scope items is needed, and the model's customer", async () => {
  const { key: ranks } = await edge.issueKey({ scopes: ["rank", "events"] });
  const { key: changes } = await edge.issueKey({ scopes: ["items"] });
  const { key: others } = await edge.issueKey({ customer: "globex" });
  const statuses = await Promise.all(
    [ranks, changes, others].map(async (key) => (await edge.call(pathOf("?search=i"), { key })).status),
  );
  expect(statuses).toEqual([403, 200, 404]);
});
