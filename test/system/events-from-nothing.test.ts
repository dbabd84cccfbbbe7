/** A customer without any data: from the first events to lists that follow them, on the real runtimes. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { shardsOf } from "../../shared/events/event-store.ts";
import type { UserId } from "../../shared/ids.ts";
import type { ModelRecord } from "../../shared/model-record.ts";
import { stringAt } from "../../shared/packed-strings.ts";
import { listEventFiles } from "../../trainer/store/event-files.ts";
import { EVENTS_SCHEMA } from "../fixtures/event-files.ts";
import { twoTastes } from "../fixtures/two-tastes.ts";
import { startWholeService, type WholeService } from "../fixtures/whole-service.ts";

const BODY = { model_name: "shop", connector_configs: [{ type: "Events" }], schema: EVENTS_SCHEMA };
const RANK = "/v0/models/shop/rank";
const SHARDS = { format: 1 as const, generations: [{ id: 0, shards: 4 }] };
const data = twoTastes({ users: 60, items: 20, perUser: 8 });
const itemOf = (row: number) => `i${stringAt(data.itemIds, data.items[row]!)}`;
let service: WholeService;
let key: string;

beforeAll(async () => {
  service = await startWholeService({
    realRuns: true,
    edge: { vars: { EVENT_EXPORT_SECONDS: 1, POINTER_CACHE_SECONDS: 1 } },
    environment: { SHORTLIST_FIT_SECONDS: "1", SHORTLIST_IGNORE_GATE: "true" },
  });
  key = (await service.edge.issueKey({ customer: "acme", scopes: ["rank", "events", "manage"] })).key;
}, 240_000);
afterAll(() => service?.stop());

async function call(path: string, body?: object) {
  const answer = await service.edge.call(path, { key, ...(body && { body }) });
  return { status: answer.status, events: answer.headers.get("x-events"), body: await answer.json() };
}

async function ranked(path: string) {
  const answer = await service.edge.call(path, { key });
  const [version, strategy, events] = ["x-model-version", "x-rank-strategy", "x-events"].map((name) =>
    answer.headers.get(name),
  );
  return { status: answer.status, version, strategy, events, ids: (await answer.json()) as string[] };
}

async function until(condition: (record: ModelRecord) => boolean): Promise<ModelRecord> {
  for (const deadlineMs = performance.now() + 180_000; ; await new Promise((done) => setTimeout(done, 200))) {
    const record = (await call("/v0/models/shop")).body as ModelRecord;
    if (condition(record)) return record;
    if (performance.now() > deadlineMs) throw new Error(`It never came to that: ${JSON.stringify(record)}`);
  }
}

const isActive = ({ status, training }: ModelRecord) => status === "ACTIVE" && training.state === "IDLE";
const exported = async () =>
  (await listEventFiles(service.edge.store, "acme")).reduce((sum, { first, last }) => sum + last - first + 1, 0);

test("a model of events alone counts them first, learns them once, and follows new ones at once", {
  timeout: 400_000,
}, async () => {
  const dry = await call("/v0/models?dry_run=true", BODY);
  expect(dry).toMatchObject({ status: 200, body: { ok: true, problems: [{ code: "not_enough_events" }] } });
  expect((await call("/v0/models", BODY)).status).toBe(201);
  const waiting = await until(({ failure }) => failure !== null);
  expect(waiting).toMatchObject({ status: "SCHEDULING", failure: { code: "not_enough_events" } });

  const time = (row: number) => new Date((Date.now() / 1000 - data.items.length + row) * 1000).toISOString();
  const events = [];
  for (let user = 0; user < data.userCount; user++)
    for (let row = data.userStart[user]!; row < data.userStart[user + 1]!; row++)
      events.push({ user_id: `u${user}`, item_id: itemOf(row), type: "view", created_at: time(row) });
  expect((await call("/v0/events", { events })).body).toEqual({ accepted: events.length, duplicates: 0 });
  const young = await ranked(`${RANK}?user_id=u0&limit=50`);
  expect(young).toMatchObject({ status: 200, version: "none", strategy: "popular" });
  const seen = Array.from({ length: data.userStart[1]! }, (_, row) => itemOf(row));
  const others = new Set(events.map(({ item_id }) => item_id));
  for (const item of seen) others.delete(item);
  expect(young.ids.toSorted()).toEqual([...others].sort());
  const first = await until(isActive);
  expect(first.data).toMatchObject({ interactions: events.length, events: data.userCount });
  const own = await call(`${RANK}?user_id=u0&limit=50`);
  expect([own.events, (own.body as string[]).filter((item) => seen.includes(item))]).toEqual(["0", []]);

  const [liked] = (await call(`${RANK}?user_id=new&limit=1`)).body as string[];
  await call("/v0/events", { events: [{ user_id: "new", item_id: liked, type: "view" }] });
  const live = await call(`${RANK}?user_id=new&limit=50`);
  expect([live.events, (live.body as string[]).includes(liked!)]).toEqual(["1", false]);

  // A visitor turns out to be this user.
  const [viewed] = (await call(`${RANK}?user_id=new&limit=1`)).body as string[];
  await call("/v0/events", { events: [{ user_id: "visitor", item_id: viewed, type: "view" }] });
  expect((await call("/v0/users/new/merge", { from: "visitor" })).body).toMatchObject({
    user_id: "new",
    changed: true,
  });
  const both = await call(`${RANK}?user_id=new&limit=50`);
  expect([both.events, (both.body as string[]).includes(viewed!)]).toEqual(["2", false]);

  const shardOf = async (id: string) => (await shardsOf(SHARDS, id as UserId))[0];
  const merges = (await shardOf("new")) === (await shardOf("visitor")) ? 1 : 2; // one in each shard
  await expect.poll(exported).toBe(data.userCount + 2 + merges);
  expect((await call("/v0/models/shop/train", {})).status).toBe(202);
  const second = await until((record) => isActive(record) && record.version !== first.version);
  expect(second.data).toMatchObject({ interactions: events.length + 2, events: data.userCount + 2 + merges });
  const list = () => ranked(`${RANK}?user_id=new&limit=50`);
  await expect.poll(async () => (await list()).version).toBe(second.version);
  for (const id of ["new", "visitor"]) {
    const learnt = await ranked(`${RANK}?user_id=${id}&limit=50`);
    expect([learnt.events, learnt.ids.includes(liked!), learnt.ids.includes(viewed!)]).toEqual(["0", false, false]);
  }
});
