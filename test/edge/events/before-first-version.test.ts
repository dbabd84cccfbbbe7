/** A model of events alone that has no version yet, in a real workerd: popular items by live counts. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { erasureHash } from "../../../shared/erased-users.ts";
import type { UserId } from "../../../shared/ids.ts";
import { addErasedUsers } from "../../../trainer/store/erased-list.ts";
import { changeEventShards } from "../../../trainer/store/event-shards.ts";
import { setStatus } from "../../../trainer/store/live-pointer-swap.ts";
import { type EdgeWorld, startEdge } from "../../fixtures/edge-world.ts";

const MEANINGS = {
  buy: { label: true, seen: true },
  skip: { label: false, seen: true },
  cart: { label: false, seen: false },
};
const SALT = "00112233445566778899aabbccddeeff";
const RANK = "/v0/models/young/rank";

let edge: EdgeWorld;
beforeAll(async () => {
  edge = await startEdge({ vars: { EVENTS_TIMEOUT_MS: 500, EVENT_EXPORT_SECONDS: 3600 } });
});
afterAll(() => edge?.stop());
afterEach(() => edge.inject(undefined));

let customers = 0;
let [customer, key] = ["", ""];
const wait = (modelName: string, customerOf = customer, status: "SCHEDULING" | "ERROR" = "SCHEDULING") =>
  setStatus(edge.store, { customer: customerOf, modelName }, { status, events: { meanings: MEANINGS }, nowMs: 0 });
beforeEach(async () => {
  customer = `customer-${customers++}`;
  key = (await edge.issueKey({ customer })).key;
  await wait("young");
});

const call = async (path: string, body?: object) => {
  const answer = await edge.call(path, { key, ...(body && { body }) });
  const { headers, status } = answer;
  const [strategy, version, events] = ["x-rank-strategy", "x-model-version", "x-events"].map((name) =>
    headers.get(name),
  );
  return {
    status,
    strategy,
    version,
    events,
    rankId: headers.get("x-rank-id"),
    body: (await answer.json()) as unknown,
  };
};
const post = async (...events: readonly (readonly [user: string, type: string, item: string | number])[]) => {
  const body = { events: events.map(([user_id, type, item_id]) => ({ user_id, type, item_id })) };
  expect((await call("/v0/events", body)).status).toBe(200);
};
/** Counts are at most a second old. */
const eventually = (path: string) => expect.poll(async () => (await call(path)).body);
const SALE = [
  ["ann", "buy", "lamp"],
  ["bob", "buy", "lamp"],
  ["cal", "buy", "lamp"],
  ["ann", "buy", "rug"],
  ["bob", "buy", 7],
  ["bob", "buy", 7],
  ["cal", "buy", "rug"],
  ["dan", "skip", "vase"],
  ["dan", "cart", "vase"],
] as const;

test("from the first positive event on, lists are popular items by number of users, without what the user has seen", async () => {
  const before = await call(RANK);
  expect(before).toMatchObject({ status: 409, body: { code: "model_not_active", model_status: "SCHEDULING" } });
  await post(["dan", "skip", "vase"], ["dan", "cart", "vase"]);
  expect((await call(RANK)).status).toBe(409); // nothing positive
  await post(...SALE);
  await eventually(RANK).toEqual(["lamp", "rug", "7"]);
  expect(await call(`${RANK}?limit=1`)).toMatchObject({
    body: ["lamp"],
    strategy: "popular",
    version: "none",
    events: null,
  });
  expect(await call(`${RANK}?user_id=bob`)).toMatchObject({ body: ["rug"], strategy: "popular", events: "3" });
  await post(["eve", "skip", "lamp"], ["eve", "cart", "rug"]);
  expect(await call(`${RANK}?user_id=eve`)).toMatchObject({ body: ["rug", "7"], events: "1" });
  expect((await call(RANK, { user_id: "eve", exclude_seen: false })).body).toEqual(["lamp", "rug", "7"]);
});

test("items of the session are left out, and the other fields of a call hold as for a version without attributes", async () => {
  await post(...SALE);
  await eventually(RANK).toEqual(["lamp", "rug", "7"]);
  const body = async (fields: object) => (await call(RANK, fields)).body;
  expect(await body({ interactions: [{ item_id: "lamp" }, { item_id: "new" }] })).toEqual(["rug", "7"]);
  expect(await body({ item_ids: ["7", "rug", "vase"] })).toEqual(["rug", "7"]);
  expect(await body({ retrieval: { item_id: { $ne: "rug" } } })).toEqual(["lamp", "7"]);
  expect(await body({ pinned: ["7"] })).toEqual(["7", "lamp", "rug"]);
  expect(await body({ retrieval: { colour: "red" } })).toMatchObject({ code: "unknown_attribute" });
  expect(await body({ scenario: "home" })).toMatchObject({ code: "scenario_not_found" });
  expect((await call("/v0/models/young/similar_items?item_id=lamp")).body).toMatchObject({ code: "model_not_active" });
  const detailed = await call(RANK, { user_id: "cal", return: ["scores", "metadata", "reasons"] });
  expect(detailed.body).toMatchObject({
    items: [{ item_id: "7", score: expect.any(Number), metadata: {}, reasons: [] }],
    version: "none",
    strategy: "popular",
  });
  expect(detailed.rankId).toMatch(/^none\./);
});

test("counts are a customer's own, by the meanings of each model, in every generation of shards, also after a failed run", async () => {
  await post(...SALE);
  await changeEventShards(edge.store, { customer, shards: 7, nowMs: Date.now() });
  await post(["dan", "buy", "rug"], ["eve", "buy", "rug"]);
  await wait("young", customer, "ERROR");
  await eventually(RANK).toEqual(["rug", "lamp", "7"]);
  const meanings = { ...MEANINGS, buy: { label: false, seen: true }, skip: { label: true, seen: true } };
  await setStatus(edge.store, { customer, modelName: "young" }, { status: "ERROR", events: { meanings }, nowMs: 0 });
  await eventually(RANK).toEqual(["vase"]);
  const other = (await edge.issueKey({ customer: `${customer}-other` })).key;
  await wait("young", `${customer}-other`);
  expect((await edge.call(RANK, { key: other })).status).toBe(409);
});

test("an erased user has seen nothing", async () => {
  await post(...SALE);
  await eventually(`${RANK}?user_id=bob`).toEqual(["rug"]);
  const hashes = [await erasureHash(SALT, "bob" as UserId)];
  await addErasedUsers(edge.store, customer, { salt: SALT, hashes });
  expect((await call(`${RANK}?user_id=bob`)).body).toEqual(["lamp", "rug", "7"]);
});

test("if events cannot be counted, the call fails, and nothing is counted for a model with a version", async () => {
  await post(...SALE);
  await edge.publish({ customer });
  await edge.inject({ keys: "shard:", kind: "hang" });
  expect(await call(RANK)).toMatchObject({ status: 503, body: { code: "events_unavailable" } });
  expect((await call("/v0/models/shop/rank")).status).toBe(200);
});
