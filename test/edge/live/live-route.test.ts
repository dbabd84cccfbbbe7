/** `GET /v0/live` in a real workerd: what is counted, and what is not. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { erasureHash } from "../../../shared/erased-users.ts";
import type { UserId } from "../../../shared/ids.ts";
import { addErasedUsers } from "../../../trainer/store/erased-list.ts";
import { type EdgeWorld, startEdge } from "../../fixtures/edge-world.ts";

type Live = {
  minutes: {
    at: string;
    events: Record<string, number>;
    lists: Record<string, number>;
    refusals: Record<string, number>;
    latency_ms: object | null;
  }[];
  latency_ms: { p50: number; p95: number; p99: number } | null;
  events_from: string;
  newest_events: { user_id: string; item_id: string; type: string; arrived_at: string }[];
};
const VARS = { CALL_COUNT_SECONDS: 0, EVENTS_TIMEOUT_MS: 500 };

let directory: string;
let edge: EdgeWorld;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "edge-live-"));
  edge = await startEdge({ r2Directory: directory, vars: VARS });
  await edge.publish({ events: { meanings: { view: { label: true, seen: true } }, learnt: {} } });
});
afterEach(() => edge.inject(undefined));
afterAll(async () => {
  await edge?.stop();
  await rm(directory, { recursive: true, force: true, maxRetries: 5 });
});

/** What a new customer's key gets. */
async function customerOf(customer: string) {
  const { key } = await edge.issueKey({ customer });
  const call = (path: string, body?: unknown) => edge.call(path, { key, ...(body !== undefined && { body }) });
  const live = async () => (await (await call("/v0/live")).json()) as Live;
  const sums = async () => {
    const { minutes } = await live();
    const sum = (part: "events" | "lists" | "refusals") => {
      const all: Record<string, number> = {};
      for (const minute of minutes)
        for (const [name, count] of Object.entries(minute[part]))
          all[name] = (Object.hasOwn(all, name) ? all[name]! : 0) + count;
      return all;
    };
    return { events: sum("events"), lists: sum("lists"), refusals: sum("refusals") };
  };
  const send = (events: readonly object[]) => call("/v0/events", { events });
  return { key, call, live, sums, send };
}
const view = (user_id: string, item_id: string, type = "view") => ({ user_id, item_id, type });

test("a customer without any calls has an empty hour of 60 minutes", async () => {
  const { live } = await customerOf("quiet");
  const { minutes, latency_ms, newest_events, events_from } = await live();
  expect(minutes).toHaveLength(60);
  expect(minutes.every(({ events, lists }) => Object.keys({ ...events, ...lists }).length === 0)).toBe(true);
  expect({ latency_ms, newest_events, events_from }).toEqual({
    latency_ms: null,
    newest_events: [],
    events_from: minutes[0]!.at,
  });
});

test("events of all shards are counted by type, each once, and the newest are shown", async () => {
  const { sums, live, send } = await customerOf("busy");
  await send([view("ann", "i1"), view("ann", "i2"), view("bob", "i3", "purchase"), view("cy", "i1", "constructor")]);
  expect((await sums()).events).toEqual({ view: 2, purchase: 1, constructor: 1 });
  await send(Array.from({ length: 30 }, (_, i) => view(`user-${i}`, "i5")));
  expect((await sums()).events).toEqual({ view: 32, purchase: 1, constructor: 1 });
  expect((await sums()).events.view).toBe(32); // counted rows are not counted again
  const { newest_events: newest } = await live();
  expect(newest).toHaveLength(20);
  expect(newest[0]).toMatchObject({ item_id: "i5", type: "view", arrived_at: expect.any(String) });
  const many = Array.from({ length: 80 }, (_, i) => view("dee", "i1", `type-${i}`));
  await send(many);
  const { events } = await sums();
  for (const minute of (await live()).minutes) expect(Object.keys(minute.events).length).toBeLessThanOrEqual(51);
  expect(Object.values(events).reduce((sum, count) => sum + count, 0)).toBe(114);
});

test("lists are counted by strategy, refusals by code, and both by the customer of the key", async () => {
  const { call, sums, live } = await customerOf("acme");
  const rank = "/v0/models/shop/rank";
  await call(`${rank}?user_id=ann`);
  await call(rank);
  await call(rank);
  await call("/v0/models/shop/similar_items?item_id=i1");
  await call(`${rank}?limit=0`);
  await call("/v0/models/nothing/rank");
  await edge.call(rank, { key: "junk" }); // nobody's call
  await expect.poll(sums).toMatchObject({
    lists: { personalized: 1, popular: 2, similar: 1 },
    refusals: { limit_out_of_range: 1, model_not_found: 1 },
  });
  const { latency_ms } = await live();
  expect(latency_ms!.p50).toBeGreaterThanOrEqual(0);
  expect(latency_ms!.p99).toBeGreaterThanOrEqual(latency_ms!.p95);
  expect((await (await customerOf("other")).sums()).lists).toEqual({});
});

test("an erased user's events are not shown", async () => {
  const { live, send } = await customerOf("forgetful");
  await send([view("ann", "i1"), view("bob", "i2")]);
  const salt = "00112233445566778899aabbccddeeff";
  await addErasedUsers(edge.store, "forgetful", { salt, hashes: [await erasureHash(salt, "ann" as UserId)] });
  expect((await live()).newest_events.map(({ user_id }) => user_id)).toEqual(["bob"]);
});

test("it needs the scope manage, and shards that answer; ranking needs neither", async () => {
  const { key } = await edge.issueKey({ scopes: ["rank"] });
  expect((await edge.call("/v0/live", { key })).status).toBe(403);
  await edge.inject({ keys: "shard:acme/calls", kind: "error" });
  const answer = await edge.call("/v0/live");
  expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([503, "events_unavailable"]);
  expect((await edge.call("/v0/models/shop/rank")).status).toBe(200);
  await expect.poll(() => edge.log.join()).toContain("calls_not_counted");
});

test("what was counted is still there after a restart", async () => {
  const { sums, send, call } = await customerOf("steady");
  await send([view("ann", "i1")]);
  await call("/v0/models/nothing/rank");
  await expect.poll(async () => (await sums()).refusals).toEqual({ model_not_found: 1 });
  const before = await sums();
  await edge.stop();
  edge = await startEdge({ r2Directory: directory, vars: VARS });
  expect(await (await customerOf("steady")).sums()).toEqual(before);
});
