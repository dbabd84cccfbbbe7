/** Changed items in a real workerd: what is stored, what is refused, and what the next list shows. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { changesHeadKey, decodeItemChanges } from "../../../shared/items/changes-file.ts";
import { countOf, stringAt } from "../../../shared/packed-strings.ts";
import { deleteModel } from "../../../trainer/store/delete-model.ts";
import { type EdgeWorld, startEdge } from "../../fixtures/edge-world.ts";

let edge: EdgeWorld;
beforeAll(async () => {
  // Longer than the 1.5 s that an object waits for the bucket before it answers.
  edge = await startEdge({ vars: { ITEMS_TIMEOUT_MS: 3000, READ_TIMEOUT_MS: 300 } });
});
afterAll(() => edge?.stop());
afterEach(() => edge.inject(undefined));

let models = 0;
let model: string;
beforeEach(async () => {
  model = `shop-${models++}`;
  await edge.publish({ modelName: model });
});

type Change = { item_id: string | number; attributes?: object | null; hidden?: boolean; at?: string };
const pathOf = (rest = "") => `/v0/models/${model}/items${rest}`;
const patch = (items: readonly Change[], options: object = {}) =>
  edge.call(pathOf(), { method: "PATCH", body: { items }, ...options });
const changed = async (...items: Change[]) => {
  const answer = await patch(items);
  expect(answer.status).toBe(200);
  return (await answer.json()) as { changed: number; ignored: number };
};
const list = async (body: object, call = "rank") => {
  const answer = await edge.call(`/v0/models/${model}/${call}`, { body });
  expect(answer.status).toBe(200);
  return (await answer.json()) as string[];
};
const view = async (id: string) => (await (await edge.call(pathOf(`/${id}`))).json()) as Record<string, unknown>;
const cheap = () => list({ retrieval: { price: { $gt: 0, $lte: 15 } } });
const listed = async (query = "") => {
  const answer = await edge.call(pathOf(`?changed=true${query}`));
  return (await answer.json()) as { items: { item_id: string }[]; next_cursor?: string };
};
const faultsOf = async (answer: Response) => {
  const { code, errors } = (await answer.json()) as { code: string; errors: { pointer: string; code: string }[] };
  return [answer.status, code, ...errors.map(({ pointer }) => pointer)];
};
const headOf = async (customer = "acme") => {
  const found = await edge.store.get(changesHeadKey(customer, model));
  return found ? decodeItemChanges(found.bytes) : undefined;
};
const ago = (seconds: number) => new Date(Date.now() - seconds * 1000).toISOString();

test("a changed price counts in the next filter, and so does a withdrawn change", async () => {
  expect(await cheap()).toEqual(["i1"]);
  expect(await changed({ item_id: "i7", attributes: { price: 12.5 } })).toEqual({ changed: 1, ignored: 0 });
  expect((await cheap()).sort()).toEqual(["i1", "i7"]);
  await changed({ item_id: "i1", attributes: { price: null } });
  expect(await cheap()).toEqual(["i7"]);
  await changed({ item_id: "i1", attributes: null }, { item_id: "i7", attributes: null });
  expect(await cheap()).toEqual(["i1"]);
});

test("a hidden item is in no answer of any kind until it is shown", async () => {
  const lists: [object, string?][] = [
    [{}],
    [{ user_id: "bob" }],
    [{ interactions: [{ item_id: "i0" }] }],
    [{ pinned: ["i2"] }],
    [{ item_ids: ["i2", "i3"] }],
    [{ boosts: [{ retrieval: { item_id: "i2" }, by: 10 }] }],
    [{ exploration: 1, seed: 3 }],
    [{ item_id: "i3" }, "similar_items"],
  ];
  for (const [body, call] of lists) expect(await list(body, call)).toContain("i2");
  await changed({ item_id: "i2", hidden: true });
  for (const [body, call] of lists) expect(await list(body, call)).not.toContain("i2");
  await changed({ item_id: "i2", attributes: null }); // keeps it hidden
  expect(await list({})).not.toContain("i2");
  await changed({ item_id: "i2", hidden: false });
  for (const [body, call] of lists) expect(await list(body, call)).toContain("i2");
});

test("an older change never overwrites a newer one of the same field, and may change another field", async () => {
  await changed({ item_id: "i7", attributes: { price: 12 }, hidden: true, at: ago(60) });
  const older = { item_id: "i7", at: ago(120) };
  expect(await changed({ ...older, attributes: { price: 70 }, hidden: false })).toEqual({ changed: 0, ignored: 1 });
  expect(await changed({ ...older, attributes: null })).toMatchObject({ changed: 1 }); // withdraws nothing
  expect(await view("i7")).toMatchObject({ hidden: true, attributes: { price: { value: 12, source: 70 } } });
  expect(await changed({ item_id: "i7", attributes: { price: 9, category: "bags" }, at: ago(90) })).toMatchObject({
    changed: 1,
  });
  expect(await view("i7")).toMatchObject({ attributes: { price: { value: 12 }, category: { value: "bags" } } });
  await changed({ item_id: "i7", attributes: null, at: ago(30) });
  expect(await changed({ item_id: "i7", attributes: { price: 8 }, at: ago(45) })).toEqual({ changed: 0, ignored: 1 });
  expect(await view("i7")).toMatchObject({ hidden: true, attributes: { price: { value: 70, source: 70 } } });
});

const AHEAD = new Date(Date.now() + 400_000).toISOString();
test.each<[string, object, string, string]>([
  ["an unknown item", { item_id: "i99", hidden: true }, "/item_id", "invalid_parameter"],
  ["an unknown attribute", { attributes: { colour: "red" } }, "/attributes/colour", "unknown_attribute"],
  ["a text as a price", { attributes: { price: "12" } }, "/attributes/price", "invalid_parameter"],
  ["a list as a category", { attributes: { category: ["a"] } }, "/attributes/category", "invalid_parameter"],
  ["an object as a value", { attributes: { price: {} } }, "/attributes/price", "invalid_parameter"],
  ["a time that is 400 s ahead", { hidden: true, at: AHEAD }, "/at", "invalid_parameter"],
  ["no time", { hidden: true, at: "now" }, "/at", "invalid_parameter"],
  ["an unknown field", { hide: true }, "/hide", "unknown_field"],
  ["nothing to change", {}, "", "invalid_parameter"],
])("with %s in one item, nothing is stored", async (_, fault, pointer, code) => {
  const answer = await patch([{ item_id: "i1", hidden: true }, { item_id: "i2", ...fault } as Change]);
  expect((await faultsOf(answer)).slice(0, 3)).toEqual([400, code, `/items/1${pointer}`]);
  expect((await listed()).items).toEqual([]);
  expect(await list({})).toContain("i1");
});

test("bodies and queries that are refused", async () => {
  const one = { item_id: "i1", hidden: true };
  const status = async (options: object, path = pathOf()) =>
    (await edge.call(path, { method: "PATCH", ...options })).status;
  expect(await status({ body: { items: [] } })).toBe(400);
  expect(await status({ body: { items: Array(1001).fill(one) } })).toBe(400);
  expect(await status({ body: { items: Array(1000).fill(one) } })).toBe(200);
  expect(await status({ body: "{" })).toBe(400);
  expect(await status({})).toBe(415);
  expect(await status({ body: " ".repeat(262_145) })).toBe(413);
  expect(await status({ body: { items: [one] } }, pathOf("?dry_run=true"))).toBe(400);
  for (const query of ["?changed=false", "?changed=true&limit=0", "?changed=true&cursor=*", "?changed=true&x=1"])
    expect([query, (await edge.call(pathOf(query))).status]).toEqual([query, 400]);
  expect((await edge.call(pathOf("/nothing"))).status).toBe(404);
  expect((await edge.call(pathOf("/i1?x=1"))).status).toBe(400);
});

test("the scope items is needed, and manage includes it", async () => {
  const { key: ranks } = await edge.issueKey({ scopes: ["rank", "events"] });
  const { key: changes } = await edge.issueKey({ scopes: ["items"] });
  const { key: manages } = await edge.issueKey({ scopes: ["manage"] });
  for (const path of [pathOf("?changed=true"), pathOf("/i1")]) {
    const statuses = await Promise.all(
      [ranks, changes, manages].map(async (key) => (await edge.call(path, { key })).status),
    );
    expect(statuses).toEqual([403, 200, 200]);
  }
  const items = [{ item_id: "i1", hidden: true }];
  expect((await patch(items, { key: ranks })).status).toBe(403);
  for (const key of [changes, manages]) expect((await patch(items, { key })).status).toBe(200);
  expect((await edge.call("/v0/models", { key: changes })).status).toBe(403);
});

test("another customer's model is unknown, and one of the same name has its own changes", async () => {
  const { key } = await edge.issueKey({ customer: "globex" });
  expect((await patch([{ item_id: "i1", hidden: true }], { key })).status).toBe(404);
  expect((await edge.call(pathOf("?changed=true"), { key })).status).toBe(404);
  await edge.publish({ customer: "globex", modelName: model });
  await changed({ item_id: "i2", hidden: true });
  const answer = await edge.call(pathOf("?changed=true"), { key });
  expect(await answer.json()).toEqual({ items: [] });
  expect(await headOf("globex")).toBeUndefined();
});

test("changed items are listed page by page, and an item shows source and change", async () => {
  const at = ago(10);
  await changed(...["i5", "i1", "i3"].map((item_id) => ({ item_id, attributes: { price: 1 }, at })));
  await changed({ item_id: "i6", hidden: true, at }, { item_id: "i3", attributes: null });
  const first = await listed("&limit=2");
  expect(first.items).toEqual(
    ["i1", "i5"].map((item_id) => ({ item_id, hidden: false, attributes: { price: { value: 1, changed_at: at } } })),
  );
  expect(await listed(`&limit=2&cursor=${first.next_cursor}`)).toEqual({
    items: [{ item_id: "i6", hidden: true, hidden_since: at, attributes: {} }],
  });
  expect(await view("i1")).toEqual({
    item_id: "i1",
    hidden: false,
    attributes: { category: { value: "hats", source: "hats" }, price: { value: 1, changed_at: at, source: 10 } },
    interactions: 2,
    positives: 2,
    similar_items: expect.any(Array),
    version: expect.any(String),
  });
});

test("a value that the version's data have overtaken does not hold", async () => {
  await changed({ item_id: "i7", attributes: { price: 1 }, hidden: true, at: ago(100) });
  const { version } = await edge.publish({ modelName: model, changesFrom: Math.floor(Date.now() / 1000) - 50 });
  await expect.poll(async () => (await view("i7")).version).toBe(version); // it loads in the background
  const { attributes, hidden } = await view("i7");
  expect([hidden, attributes]).toEqual([true, expect.objectContaining({ price: { value: 70, source: 70 } })]);
  expect((await listed()).items).toHaveLength(1);
});

test("while the bucket is away a change is durable, and in effect once it is back", async () => {
  await changed({ item_id: "i1", hidden: true });
  await edge.inject({ keys: "/items/", kind: "error" });
  expect(await changed({ item_id: "i2", hidden: true })).toEqual({ changed: 1, ignored: 0 });
  await edge.itemsAlarm(`acme/${model}`); // fails, and will be repeated
  expect(countOf((await headOf())!.ids)).toBe(1);
  await edge.inject(undefined);
  await expect.poll(async () => countOf((await headOf())!.ids)).toBe(2);
  expect(await list({})).not.toContain("i2");
  expect(edge.log.join()).toContain("item_changes_not_written");
});

test.each(["error", "hang"] as const)("an object's %s is a 503, and ranking goes on", async (kind) => {
  await changed({ item_id: "i1", hidden: true });
  await edge.inject({ keys: "items:", kind });
  for (const answer of [await patch([{ item_id: "i2", hidden: true }]), await edge.call(pathOf("/i1"))]) {
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "2"]);
    expect(await answer.json()).toMatchObject({ code: "items_unavailable" });
  }
  expect(await list({})).not.toContain("i1");
});

test("changes of many writers at once are all kept", async () => {
  const prices = Array.from({ length: 8 }, (_, i) => ({ item_id: `i${i}`, attributes: { price: 100 + i } }));
  await Promise.all(prices.map((one) => changed(one)));
  await expect.poll(async () => countOf((await headOf())!.ids)).toBe(8);
  expect(await list({ retrieval: { price: { $gte: 100 } } })).toHaveLength(8);
  const { ids } = (await headOf())!;
  expect(Array.from({ length: 8 }, (_, row) => stringAt(ids, row)).sort()).toEqual(
    prices.map(({ item_id }) => item_id),
  );
});

test("a new model with the name of a deleted one has none of its changes", async () => {
  await changed({ item_id: "i1", hidden: true });
  const signal = new AbortController().signal;
  await deleteModel(edge.store, { customer: "acme", modelName: model }, { nowMs: Date.now(), signal });
  await edge.publish({ modelName: model });
  expect((await listed()).items).toEqual([]);
  expect(await list({})).toContain("i1");
  await changed({ item_id: "i2", hidden: true });
  expect((await listed()).items).toMatchObject([{ item_id: "i2" }]);
  expect(await list({})).toContain("i1");
  expect(await list({})).not.toContain("i2");
});

test("with caches on, the isolate that made a change shows it at once", async () => {
  const cached = await startEdge({ vars: { POINTER_CACHE_SECONDS: 4, KEY_CACHE_SECONDS: 25 } });
  try {
    await cached.publish();
    const ids = async () => (await (await cached.call("/v0/models/shop/rank")).json()) as string[];
    for (const id of await ids()) {
      const body = { items: [{ item_id: id, hidden: true }] };
      await cached.call("/v0/models/shop/items", { method: "PATCH", body });
      expect(await ids()).not.toContain(id);
    }
    expect(await ids()).toEqual([]);
  } finally {
    await cached.stop();
  }
});

test("without the binding, changing items is 503 and ranking goes on", async () => {
  const old = await startEdge({ hasItems: false, vars: { ITEMS_TIMEOUT_MS: 100 } });
  try {
    await old.publish();
    const body = { items: [{ item_id: "i1", hidden: true }] };
    const answer = await old.call("/v0/models/shop/items", { method: "PATCH", body });
    expect(answer.status).toBe(503);
    expect((await old.call("/v0/models/shop/rank")).status).toBe(200);
  } finally {
    await old.stop();
  }
});
