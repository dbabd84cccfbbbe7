/** Lists of trending items in a real workerd: counts of the version, and live events of all users. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { packStrings } from "../../shared/packed-strings.ts";
import type { Dataset } from "../../trainer/read/dataset/dataset.ts";
import { setStatus } from "../../trainer/store/live-pointer-swap.ts";
import { shopDataset } from "../fixtures/edge-shop.ts";
import { type EdgeWorld, startEdge } from "../fixtures/edge-world.ts";

const MEANINGS = { buy: { label: true, seen: true }, view: { label: false, seen: false } };
const EVENTS = { meanings: MEANINGS, learnt: {} };
const RANK = "/v0/models/shop/rank";

let edge: EdgeWorld;
let customer = "";
let key = "";
let customers = 0;
beforeAll(async () => {
  edge = await startEdge({ vars: { EVENTS_TIMEOUT_MS: 500 } });
});
afterAll(() => edge?.stop());
afterEach(() => edge.inject(undefined));
beforeEach(async () => {
  customer = `customer-${customers++}`;
  key = (await edge.issueKey({ customer })).key;
});

/** The shop where users have chosen items so many hours ago: i0 often and always, i5 lately, i6 once. */
function shopWithTimes(nowMs: number): Dataset {
  const shop = shopDataset();
  const rows = [
    ...Array.from({ length: 1400 }, (_, i) => ({ item: 0, hours: 50 + (i * 600) / 1400 })),
    ...Array.from({ length: 100 }, (_, i) => ({ item: 0, hours: 0.4 * i + 1 })),
    ...Array.from({ length: 28 }, (_, i) => ({ item: 5, hours: 50 + 20 * i })),
    ...Array.from({ length: 12 }, (_, i) => ({ item: 5, hours: 3 * i + 1 })),
    { item: 6, hours: 0 },
  ];
  const userIds = rows.map((_, user) => `u${user}`);
  return {
    ...shop,
    userCount: rows.length,
    userIds: packStrings(userIds),
    userStart: Uint32Array.from({ length: rows.length + 1 }, (_, user) => user),
    items: Int32Array.from(rows, ({ item }) => item),
    times: Uint32Array.from(rows, ({ hours }) => nowMs / 1000 - hours * 3600),
    positive: new Uint8Array(rows.length).fill(1),
  };
}

const call = (path: string, body?: object) => edge.call(path, { key, ...(body && { body }) });
async function trending(body: object = {}, path = RANK) {
  const answer = await call(path, { strategy: "trending", ...body });
  return { items: (await answer.json()) as string[], strategy: answer.headers.get("x-rank-strategy"), answer };
}
const send = async (count: number, item_id: string, more: object = {}) => {
  const event = (i: number) => ({ user_id: `live-${item_id}-${i}`, item_id, type: "buy", ...more });
  const events = Array.from({ length: count }, (_, i) => event(i));
  expect((await call("/v0/events", { events })).status).toBe(200);
};

test("what has grown comes first, then popular items; users do not get what they have seen, hidden items never show", async () => {
  await edge.publish({ customer, dataset: shopWithTimes(Date.now() - 9e9) });
  const { items, strategy } = await trending();
  expect([items, strategy]).toEqual([["i5", "i0", "i1", "i2", "i3", "i4", "i6", "i7"], "trending"]);
  expect((await (await call(`${RANK}?strategy=trending&limit=1&offset=1`)).json()) as string[]).toEqual(["i0"]);
  expect((await trending({ user_id: "u1530" })).items).not.toContain("i5");
  const body = { items: [{ item_id: "i5", hidden: true }] };
  expect((await edge.call("/v0/models/shop/items", { key, method: "PATCH", body })).status).toBe(200);
  const hidden = await trending();
  expect(hidden.items[0]).toBe("i0");
  const detailed = await call(RANK, { strategy: "trending", return: ["scores", "reasons", "metadata"], limit: 2 });
  expect(await detailed.json()).toMatchObject({
    strategy: "trending",
    items: [{ item_id: "i0", reasons: [] }, { item_id: "i1" }],
  });
});

test("live events of all users count at once, those that the version has learnt and other types do not", async () => {
  await edge.publish({ customer, dataset: shopWithTimes(Date.now()), events: EVENTS });
  expect((await trending()).items[0]).toBe("i5");
  await send(40, "i3", { type: "view" });
  await send(1, "i4");
  await send(1, "i4");
  expect((await trending()).items[0]).toBe("i5");
  await send(40, "i2");
  await expect.poll(async () => (await trending()).items.slice(0, 2)).toEqual(["i2", "i5"]);
  expect((await trending({ user_id: "live-i2-7" })).items).not.toContain("i2");
  await send(300, "i7", { created_at: new Date(Date.now() - 10 * 86_400_000).toISOString() }); // earlier, not recent
  await send(60, "i7");
  await expect.poll(async () => (await trending()).items.slice(0, 2)).toEqual(["i2", "i5"]);

  const learnt = Object.fromEntries([0, 1, 2, 3].map((shard) => [`0-${shard}`, 1000]));
  await edge.publish({ customer, dataset: shopWithTimes(Date.now()), events: { meanings: MEANINGS, learnt } });
  await expect.poll(async () => (await trending()).items.slice(0, 2)).toEqual(["i5", "i0"]);
});

test("a new item trends as soon as it is chosen", async () => {
  await edge.publish({ customer, dataset: shopWithTimes(Date.now()), events: EVENTS });
  const items = [{ item_id: "novelty", attributes: { category: "hats", price: 5 } }];
  expect((await edge.call("/v0/models/shop/items", { key, method: "PATCH", body: { items } })).status).toBe(200);
  expect((await trending({ limit: 1 })).items).toEqual(["i5"]);
  await send(30, "novelty");
  await expect.poll(async () => (await trending({ limit: 1 })).items).toEqual(["novelty"]);
});

test("before the first version, and where nothing has grown, the list is of popular items", async () => {
  await setStatus(
    edge.store,
    { customer, modelName: "shop" },
    { status: "SCHEDULING", events: { meanings: MEANINGS }, nowMs: 0 },
  );
  await send(3, "lamp");
  await expect.poll(async () => (await trending()).strategy).toBe("popular");
  await send(20, "lamp", { created_at: new Date(Date.now() - 10 * 86_400_000).toISOString() });
  await send(20, "rug", { created_at: new Date(Date.now() - 10 * 86_400_000).toISOString() });
  const [first, second] = [Date.now(), Date.now() - 3_600_000].map((ms) => new Date(ms).toISOString());
  await send(9, "vase", { created_at: first });
  await send(9, "vase", { created_at: second });
  await expect.poll(async () => trending()).toMatchObject({ strategy: "trending", items: ["vase", "lamp", "rug"] });
});

test("without an answer of the shards the call fails, and other lists do not ask them", async () => {
  await edge.publish({ customer, dataset: shopWithTimes(Date.now()), events: EVENTS });
  await send(1, "i4");
  await edge.inject({ keys: `${customer}/0-`, kind: "error" });
  const { answer, items } = await trending();
  expect([answer.status, items]).toMatchObject([503, { code: "events_unavailable" }]);
  expect((await call(RANK, { strategy: "popular" })).status).toBe(200);
});
