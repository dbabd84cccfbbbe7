/** Events in a real workerd: what is stored, what is refused, and what the next list shows. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { erasureHash } from "../../../shared/erased-users.ts";
import type { UserId } from "../../../shared/ids.ts";
import { addErasedUsers } from "../../../trainer/store/erased-list.ts";
import { type EdgeWorld, startEdge } from "../../fixtures/edge-world.ts";

const MEANINGS = {
  view: { label: true, seen: true },
  impression: { label: false, seen: true },
  cart: { label: false, seen: false },
};
const RANK = "/v0/models/shop/rank";

let edge: EdgeWorld;
beforeAll(async () => {
  edge = await startEdge({ vars: { EVENTS_TIMEOUT_MS: 500, EVENT_EXPORT_SECONDS: 3600, READ_TIMEOUT_MS: 500 } });
  await edge.publish({ events: { meanings: MEANINGS, learnt: {} } });
  await edge.publish({ modelName: "deaf" });
});
afterAll(() => edge?.stop());
afterEach(() => edge.inject(undefined));

let users = 0;
let user: string;
beforeEach(() => {
  user = `user-${users++}`;
});
const post = (events: readonly object[], options: object = {}) =>
  edge.call("/v0/events", { body: { events }, ...options });
const view = (item_id: string, more: object = {}) => ({ user_id: user, item_id, type: "view", ...more });
const list = async (path = `${RANK}?user_id=${user}`) => {
  const answer = await edge.call(path);
  return { status: answer.status, events: answer.headers.get("x-events"), items: (await answer.json()) as unknown };
};
const stored = async (id = user) => {
  const { events } = (await (await edge.call(`/v0/users/${id}/events`)).json()) as { events: { item_id: string }[] };
  return events.map(({ item_id }) => item_id);
};

test("the first list after an event has it in its history and leaves out its item", async () => {
  expect(await list()).toMatchObject({ events: "0", items: expect.arrayContaining(["i6"]) });
  const answer = await post([view("i6")]);
  expect([answer.status, await answer.json()]).toEqual([200, { accepted: 1, duplicates: 0 }]);
  const after = await list();
  expect(after).toEqual({ status: 200, events: "1", items: ["i5", "i7", "i4", "i3", "i2", "i1", "i0"] });
  const similar = await list(`/v0/models/shop/similar_items?item_id=i5&user_id=${user}`);
  expect(similar).toMatchObject({ events: "1", items: expect.not.arrayContaining(["i6"]) });
  expect(await stored()).toEqual(["i6"]);
});

test("events join the stored history, types count as the model says, and unknown items and types change nothing", async () => {
  const before = await list(`${RANK}?user_id=ann`);
  expect(before).toEqual({ status: 200, events: "0", items: ["i2", "i3", "i4", "i5", "i6", "i7"] });
  const ann = (item_id: string, type: string) => ({ user_id: "ann", item_id, type });
  await post([ann("i9", "view"), ann("i3", "like"), ann("i4", "cart")]);
  expect(await list(`${RANK}?user_id=ann`)).toEqual(before);
  await post([ann("i2", "impression")]);
  expect(await list(`${RANK}?user_id=ann`)).toEqual({ ...before, events: "1", items: ["i3", "i4", "i5", "i6", "i7"] });
  await post([ann("i7", "view")]);
  expect(await list(`${RANK}?user_id=ann`)).toEqual({ ...before, events: "2", items: ["i6", "i3", "i5", "i4"] });
});
test("a model that does not listen reads neither shards nor their list, and sends no header", async () => {
  await post([view("i6")]);
  await edge.reads();
  await edge.inject({ keys: "shard:", kind: "error" });
  const answer = await list(`/v0/models/deaf/rank?user_id=${user}`);
  expect(answer).toMatchObject({ status: 200, events: null, items: expect.arrayContaining(["i6"]) });
  expect((await edge.reads()).map(({ key }) => key).filter((key) => key.includes("events"))).toEqual([]);
  expect((await edge.call(RANK)).headers.get("x-events")).toBeNull(); // without a user
});
test("a repeated event counts once, also in one call and in calls at once, by its id or by the Idempotency-Key", async () => {
  const batch = [view("i1", { event_id: "a" }), view("i2", { event_id: "b" }), view("i3", { event_id: "a" })];
  const answers = await Promise.all([post(batch), post(batch), post(batch)]);
  const counts = (await Promise.all(answers.map((answer) => answer.json()))) as {
    accepted: number;
    duplicates: number;
  }[];
  expect(counts.map(({ accepted }) => accepted).sort()).toEqual([0, 0, 2]);
  expect(counts.map(({ duplicates }) => duplicates).sort()).toEqual([1, 3, 3]);
  expect((await stored()).sort()).toEqual(["i1", "i2"]);
  const headers = { "idempotency-key": "k1" };
  for (const [accepted, duplicates] of [
    [2, 0],
    [0, 2],
  ])
    expect(await (await post([view("i4"), view("i5")], { headers })).json()).toEqual({ accepted, duplicates });
  // Without ids, the same event twice is two events. The same id of another user is another event.
  expect(await (await post([view("i4"), view("i4")])).json()).toEqual({ accepted: 2, duplicates: 0 });
  const other = { ...view("i1", { event_id: "a" }), user_id: `${user}-other` };
  expect(await (await post([other])).json()).toEqual({ accepted: 1, duplicates: 0 });
});
test("ids of every kind are recognised", async () => {
  for (const event_id of ["'", '"', "\\", "ü😀", "\u0001", "$[*]", "null", "1", "1.0"]) {
    expect(await (await post([view("i1", { event_id })])).json()).toEqual({ accepted: 1, duplicates: 0 });
    expect(await (await post([view("i1", { event_id })])).json()).toEqual({ accepted: 0, duplicates: 1 });
  }
});
const AHEAD = new Date(Date.now() + 400_000).toISOString();
test.each([
  ["an unknown field", { colour: "red" }, "/events/1/colour"],
  ["a missing item", { item_id: undefined }, "/events/1/item_id"],
  ["a type with a space", { type: "add to cart" }, "/events/1/type"],
  ["no time", { created_at: "yesterday" }, "/events/1/created_at"],
  ["a time that is 400 s ahead", { created_at: AHEAD }, "/events/1/created_at"],
  ["a time two years ago", { created_at: "2024-01-01T00:00:00Z" }, "/events/1/created_at"],
  ["a long event id", { event_id: "x".repeat(65) }, "/events/1/event_id"],
  ["an event id that is not Unicode", { event_id: "\ud800" }, "/events/1/event_id"],
  ["an event id with NUL", { event_id: "a\0" }, "/events/1/event_id"],
  ["a value that is no number", { value: "1" }, "/events/1/value"],
])("with %s in one event, no event is stored", async (_, fault, pointer) => {
  const answer = await post([view("i1"), view("i2", fault)]);
  const { errors } = (await answer.json()) as { errors: { pointer: string }[] };
  expect([answer.status, errors.map((error) => error.pointer)]).toEqual([400, [pointer]]);
  expect(await stored()).toEqual([]);
});
test("bodies, queries and headers that are refused", async () => {
  const status = async (options: object, path = "/v0/events") =>
    (await edge.call(path, { method: "POST", ...options })).status;
  expect(await status({ body: { events: [] } })).toBe(400);
  expect(await status({ body: { events: Array(501).fill(view("i1")) } })).toBe(400);
  expect(await status({ body: { events: Array(500).fill(view("i1")) } })).toBe(200);
  expect(await status({ body: "{" })).toBe(400);
  expect(await status({})).toBe(415);
  expect(await status({ body: " ".repeat(262_145) })).toBe(413);
  expect(await status({ body: { events: [view("i1")] }, headers: { "content-type": "text/plain" } })).toBe(415);
  expect(await status({ body: { events: [view("i1")] }, headers: { "idempotency-key": "a b" } })).toBe(400);
  expect(await status({ body: { events: [view("i1")] } }, "/v0/events?dry_run=true")).toBe(400);
});
test("times up to five minutes ahead and thirteen months ago are stored", async () => {
  const at = (ms: number) => new Date(Date.now() + ms).toISOString();
  const times = [at(290_000), at(-395 * 86_400_000)];
  expect((await post(times.map((created_at) => view("i1", { created_at })))).status).toBe(200);
});
test("events need the scope events, and reading them needs manage", async () => {
  const { key: ranking } = await edge.issueKey({ scopes: ["rank", "manage"] });
  const refused = await post([view("i1")], { key: ranking });
  expect(refused.status).toBe(403);
  expect(await refused.json()).toMatchObject({
    code: "insufficient_scope",
    detail: "This call needs an API key with the scope events; this one has rank, manage.",
  });
  const { key: sending } = await edge.issueKey({ scopes: ["events"] });
  expect((await post([view("i1")], { key: sending })).status).toBe(200);
  expect((await edge.call(`/v0/users/${user}/events`, { key: sending })).status).toBe(403);
});
test("a user with any id can be shown", async () => {
  const id = "Zoë/%41 #?";
  await post([{ ...view("i1"), user_id: id }]);
  const answer = await edge.call(`/v0/users/${encodeURIComponent(id)}/events`);
  expect(await answer.json()).toMatchObject({ user_id: id, events: [{ item_id: "i1" }] });
  expect((await edge.call("/v0/users/%ff/events")).status).toBe(400);
});
test("another customer with the same user and shard sees nothing", async () => {
  await post([view("i1")]);
  const { key } = await edge.issueKey({ customer: "globex" });
  const answer = await edge.call(`/v0/users/${user}/events`, { key });
  expect(await answer.json()).toEqual({ user_id: user, events: [] });
});
test.each(["error", "hang", "slow"] as const)(
  "a shard's %s is a 503 for its users, and nothing to other calls",
  async (kind) => {
    await post([view("i6")]);
    await edge.inject({ keys: "shard:", kind, slowMs: 2000 });
    for (const answer of [await post([view("i1")]), await edge.call(`${RANK}?user_id=${user}`)]) {
      expect(answer.status).toBe(503);
      expect(answer.headers.get("retry-after")).toBe("2");
      expect(await answer.json()).toMatchObject({ code: "events_unavailable" });
    }
    expect((await list(RANK)).status).toBe(200);
    expect((await list(`/v0/models/deaf/rank?user_id=${user}`)).status).toBe(200);
    await edge.inject(undefined);
    expect(await list()).toMatchObject({ status: 200, events: "1" });
  },
);
test("a customer has 48 calls that send events at once in an isolate, and shuts out no other customer", async () => {
  const { key } = await edge.issueKey({ customer: "globex" });
  expect((await post([view("i1")], { key })).status).toBe(200);
  await edge.inject({ keys: "shard:acme", kind: "slow", slowMs: 400 });
  const calls = Array.from({ length: 60 }, () => post([view("i1")]));
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect((await post([view("i1")], { key })).status).toBe(200);
  const answers = await Promise.all(calls);
  const refused = answers.filter(({ status }) => status === 503);
  expect(await refused[0]!.json()).toMatchObject({ code: "overloaded" });
  expect(refused.length).toBeGreaterThanOrEqual(12);
});
test("a call that was stored but not answered is repeated and counts once", async () => {
  await edge.inject({ keys: "shard:", kind: "unanswered", chance: 0.7 });
  const answers = await Promise.all([1, 2, 3, 4].map((n) => post([view(`i${n}`)])));
  await edge.inject(undefined);
  const accepted = answers.filter(({ status }) => status === 200).length;
  expect(new Set(await stored()).size).toBe((await stored()).length);
  expect((await stored()).length).toBeGreaterThanOrEqual(accepted);
});
test("events of an erased user are neither used nor stored", async () => {
  await post([view("i6")]);
  const hashes = [await erasureHash("00112233445566778899aabbccddeeff", user as UserId)];
  await addErasedUsers(edge.store, "acme", { salt: "00112233445566778899aabbccddeeff", hashes });
  expect(await list()).toMatchObject({ status: 200, events: "0", items: expect.arrayContaining(["i6"]) });
  expect(await stored()).toEqual([]);
  expect(await (await post([view("i5")])).json()).toEqual({ accepted: 1, duplicates: 0 });
});
test("a user with 10,000 events is refused, other users are not", async () => {
  const batch = Array.from({ length: 500 }, (_, i) => view(`i${i % 8}`));
  for (let i = 0; i < 20; i++) expect((await post(batch)).status).toBe(200);
  const other = { ...view("i1"), user_id: `${user}-other` };
  const answer = await post([other, view("i1")]);
  expect(answer.status).toBe(429);
  expect(await answer.json()).toMatchObject({ code: "rate_limited", errors: [{ pointer: "/events/1/user_id" }] });
  expect((await post([other])).status).toBe(200);
  expect(await list()).toMatchObject({ status: 200, events: "10000", items: [] });
});
