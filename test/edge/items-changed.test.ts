/** What callers see when a customer changes the catalog: hidden items vanish, changed values count everywhere. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { activate } from "../../trainer/store/versions.ts";
import { type EdgeWorld, startEdge } from "../fixtures/edge-world.ts";
import { changedItem, hiddenItem, writeChanges } from "../fixtures/item-changes.ts";

const SHOP = { customer: "acme", modelName: "shop" };
/** A change must show within this time. */
const SHOWN_MS = 10_000;

let edge: EdgeWorld;
beforeAll(async () => {
  edge = await startEdge({ vars: { POINTER_CACHE_SECONDS: 4, KEY_CACHE_SECONDS: 25, READ_TIMEOUT_MS: 100 } });
});
beforeEach(async () => {
  await edge.publish();
  await change({ head: [] });
});
afterEach(() => edge.inject(undefined));
afterAll(() => edge.stop());

const change = async (written: Parameters<typeof writeChanges>[2]) => {
  await writeChanges(edge.store, SHOP, written);
  await edge.idle(SHOWN_MS);
};
const answerOf = (body: object, call = "rank") => edge.call(`/v0/models/shop/${call}`, { body });
const list = async (body: object, call?: string) => {
  const answer = await answerOf(body, call);
  expect(answer.status).toBe(200);
  return (await answer.json()) as string[];
};
const SESSION = { interactions: [{ item_id: "i0" }] };

test("a hidden item vanishes from every list within ten seconds, and comes back when it is shown", async () => {
  const lists: [string, object, string?][] = [
    ["personalized", { user_id: "bob" }],
    ["session", SESSION],
    ["popular", {}],
    ["filtered", { retrieval: { category: "shoes" } }],
    ["pinned", { pinned: ["i2"] }],
    ["given", { item_ids: ["i2", "i3"] }],
    ["boosted", { boosts: [{ retrieval: { item_id: "i2" }, by: 10 }] }],
    ["explored", { exploration: 1, diversity: 0.5, max_per_value: { category: 4 } }],
    ["similar", { item_id: "i3" }, "similar_items"],
  ];
  for (const [, body, call] of lists) expect(await list(body, call)).toContain("i2");
  for (const written of [{ head: [hiddenItem("i2")] }, { base: [hiddenItem("i2")], head: [] }]) {
    await change(written);
    for (const [name, body, call] of lists) {
      const items = await list(body, call);
      expect([name, items.includes("i2")]).toEqual([name, false]);
      expect(items.length).toBeGreaterThan(0);
    }
    await change({ head: [changedItem("i2", {})] });
    for (const [name, body, call] of lists) expect([name, ...(await list(body, call))]).toContain("i2");
  }
});

test("a hidden item is no reason and in no history of an answer", async () => {
  const body = { user_id: "ann", return: ["reasons", "history"] };
  expect(await (await answerOf(body)).text()).toContain('"i0"');
  await change({ head: [hiddenItem("i0")] });
  expect(await (await answerOf(body)).text()).not.toContain('"i0"');
});

test("changed values count in filters, caps, boosts, metadata and scenarios", async () => {
  await change({
    base: [changedItem("i1", { price: 5.5 })],
    head: [changedItem("i7", { price: 3, category: "scarves" })],
  });
  expect((await list({ retrieval: { price: { $gt: 0, $lt: 10 } } })).sort()).toEqual(["i1", "i7"]);
  expect(await list({ retrieval: { category: "scarves" } })).toEqual(["i7"]);
  expect(await list({ retrieval: { price: 70 } })).toEqual([]);
  expect((await list({ max_per_value: { category: 1 } })).sort()).toEqual(["i0", "i1", "i7"]);
  expect((await list({ boosts: [{ retrieval: { price: 3 }, by: 10 }], limit: 1 }))[0]).toBe("i7");
  expect(await list({ boosts: [{ attribute: "price", by: 9 }], limit: 1 })).toEqual(["i6"]);
  const answer = await answerOf({ item_ids: ["i7", "i1"], return: ["metadata"] });
  const { items } = (await answer.json()) as { items: { item_id: string; metadata: object }[] };
  expect(Object.fromEntries(items.map(({ item_id, metadata }) => [item_id, metadata]))).toEqual({
    i1: { category: "hats", price: 5.5 },
    i7: { category: "scarves", price: 3 },
  });
});

test("a version that goes live later has the changes in its first answer", async () => {
  await change({ base: [hiddenItem("i2")], head: [changedItem("i7", { price: 3 })] });
  await list({});
  const { version } = await edge.publish();
  await edge.idle(SHOWN_MS);
  const answer = await answerOf({ retrieval: { price: { $gt: 0, $lte: 20 } } });
  expect(answer.headers.get("x-model-version")).toBe(version);
  expect(((await answer.json()) as string[]).sort()).toEqual(["i1", "i7"]);
});

test("a value that is older than the data of a later version does not hold in it, and holds again after a roll-back", async () => {
  const first = await edge.publish();
  await change({ head: [changedItem("i7", { price: 3 }), hiddenItem("i2")] }); // at second 1
  const cheap = () => list({ retrieval: { price: { $gt: 0, $lte: 20 } } });
  expect((await cheap()).sort()).toEqual(["i1", "i7"]);
  await edge.publish({ changesFrom: 2 });
  await edge.idle(SHOWN_MS);
  expect(await cheap()).toEqual(["i1"]);
  await activate(edge.store, SHOP, { version: first.version, nowMs: Date.now() });
  await edge.idle(SHOWN_MS);
  expect((await cheap()).sort()).toEqual(["i1", "i7"]);
});

test("changes that cannot be read end the call after ten seconds, and a hidden item does not come back", async () => {
  await change({ head: [hiddenItem("i2")] });
  expect(await list({})).not.toContain("i2");
  for (const kind of ["error", "hang"] as const) {
    await edge.inject({ keys: "/items/", kind });
    await edge.idle(9000);
    expect(await list({})).not.toContain("i2");
    await edge.idle(2000);
    const answer = await answerOf({});
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "2"]);
    expect(await answer.json()).toMatchObject({ code: "artifact_unavailable" });
    await edge.inject(undefined);
    await edge.idle(1000);
    expect(await list({})).not.toContain("i2");
  }
});

test("a model without changes is served while its changes cannot be read", async () => {
  await edge.publish({ modelName: "plain" });
  const status = async () => (await edge.call("/v0/models/plain/rank")).status;
  expect(await status()).toBe(200);
  await edge.inject({ keys: "/items/", kind: "error" });
  await edge.idle(100_000);
  expect(await status()).toBe(200);
});

test("with SERVE_UNFILTERED the last known changes are served, and header and log say so", async () => {
  const bold = await startEdge({ vars: { SERVE_UNFILTERED: true, READ_TIMEOUT_MS: 100 } });
  try {
    await bold.publish();
    await writeChanges(bold.store, SHOP, { head: [hiddenItem("i2")] });
    const rank = () => bold.call("/v0/models/shop/rank");
    expect((await rank()).headers.get("x-catalog-changes")).toBeNull();
    await bold.inject({ keys: "/items/", kind: "error" });
    await bold.idle(60_000);
    const answer = await rank();
    expect([answer.status, answer.headers.get("x-catalog-changes")]).toEqual([200, "unavailable"]);
    expect(await answer.json()).not.toContain("i2");
    expect(bold.log.some((line) => line.includes("served_without_changes"))).toBe(true);
  } finally {
    await bold.stop();
  }
});
