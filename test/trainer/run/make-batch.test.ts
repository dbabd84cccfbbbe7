/** Batches of a real version, item by item against the edge in a real workerd. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, expect, test } from "vitest";
import { BatchBody, batchFileKey } from "../../../shared/batch.ts";
import { erasureHash } from "../../../shared/erased-users.ts";
import type { UserId } from "../../../shared/ids.ts";
import type { ModelSpec } from "../../../shared/model-spec.ts";
import { scenarioKey } from "../../../shared/scenario.ts";
import { makeBatch } from "../../../trainer/run/make-batch.ts";
import { addErasedUsers } from "../../../trainer/store/erased-list.ts";
import { drawnWorld } from "../../bench/edge-scale-world.ts";
import { CACHING, type EdgeWorld, startEdge } from "../../fixtures/edge-world.ts";
import { aroundCalls } from "../../fixtures/meanwhile-store.ts";
import { fileSettings } from "../../fixtures/real-data.ts";

const MEANINGS = { view: { label: true, seen: true }, impression: { label: false, seen: true } };
const SALT = "00112233445566778899aabbccddeeff";
const ITEMS = 400;
const world = drawnWorld({ label: "shop", itemCount: ITEMS, userCount: 150, weightBytesMax: 50_000 });
/** Every user chooses five of the first ten items again, once a week, so that no item is of another time of the week than others. */
const dataset = {
  ...world.dataset,
  times: world.dataset.times.map((time, _, [first = 0]) => first + 7 * (time - first)),
  items: world.dataset.items.map((item, row, all) => (row % 20 > 14 ? all[row - 10]! : item)),
};
const userId = String as (user: number) => string;
const USERS = [...Array.from({ length: 150 }, (_, user) => userId(user)), "anonymous", "nobody"];

let edge: EdgeWorld;
let root: string;
let batches = 0;
/** The order of users in a batch differs from run to run, and so does who is erased between two of its files. */
const erased: string[] = [];
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "make-batch-"));
  edge = await startEdge({ vars: { ...CACHING, EVENT_EXPORT_SECONDS: 3600 } });
  const { exported } = world;
  const repeatOdds = {
    intercept: 0,
    slope: 0,
    range: [-9, 9] as const,
    places: Array.from({ length: 9 }, (_, range) => 0.1 / (range + 1)),
  };
  const events = { meanings: MEANINGS, learnt: {} };
  await edge.publish({ dataset, exported, repeatOdds, events, itemIdColumn: "item_id" });
  const item = (await listOf(userId(0), {}))[0]!.item_id;
  const hidden = (await listOf(userId(1), {}))[0]!.item_id;
  const sent = [0, 1, 2].flatMap((user) => [
    { user_id: userId(user), item_id: item, type: "view" },
    { user_id: "anonymous", item_id: hidden, type: user === 0 ? "view" : "impression" },
  ]);
  expect((await edge.call("/v0/events", { body: { events: sent } })).status).toBe(200);
  expect((await edge.call(`/v0/users/${userId(3)}/merge`, { body: { from: "anonymous" } })).status).toBe(200);
  for (const shard of ["0-0", "0-1", "0-2", "0-3"]) await edge.alarm(`acme/${shard}`);
  const change = { items: [{ item_id: hidden, hidden: true }] };
  expect((await edge.call("/v0/models/shop/items", { method: "PATCH", body: change })).status).toBe(200);
  const scenario = {
    limit: 7,
    boosts: [{ attribute: "rarity", by: 0.4 }],
    max_per_value: { shelf: 1 },
    diversity: 0.2,
  };
  const scenarios = { home: scenario, both: { seen: "include" }, again: { seen: "only" } };
  for (const [name, fields] of Object.entries(scenarios))
    await edge.store.putIfAbsent(
      scenarioKey("acme", "shop", name),
      Buffer.from(JSON.stringify(fields)),
      "application/json",
    );
});
afterAll(async () => {
  await edge?.stop();
  await rm(root, { recursive: true, force: true });
});

type Listed = { item_id: string | number; score: number };
async function listOf(user_id: string, more: object): Promise<Listed[]> {
  const answer = await edge.call("/v0/models/shop/rank", { body: { user_id, limit: 20, return: ["scores"], ...more } });
  expect(answer.status).toBe(200);
  return ((await answer.json()) as { items: Listed[] }).items;
}

type Row = { user_id: string; rank: number; item_id: string | number; score: number };
async function batchOf(
  body: object,
  more: Partial<Parameters<typeof makeBatch>[1]> = {},
): Promise<{ rows: Row[]; done: Awaited<ReturnType<typeof makeBatch>> }> {
  const batchId = `batch-${batches++}`;
  const workDirectory = await mkdtemp(join(root, "work-"));
  const spec = { model_name: "shop", connector_configs: [{ type: "Events" }], schema: SCHEMA } as unknown as ModelSpec;
  const done = await makeBatch(
    {
      ...{
        batchId,
        customer: "acme",
        spec,
        body: BatchBody.parse(body),
        workDirectory,
        modelDirectory: join(root, "model"),
      },
      ...{ memoryMbMax: 1000, diskBytesMax: 1e9, connectorSettings: {} as never },
    },
    {
      store: edge.store,
      context: { customer: "acme", settings: fileSettings([], workDirectory) },
      signal: new AbortController().signal,
      nowMs: Date.now,
      progress: () => undefined,
      ...more,
    },
  );
  const rows: Row[] = [];
  for (const { name, bytes } of done.files) {
    const found = (await edge.store.get(batchFileKey("acme", "shop", batchId, name)))!.bytes;
    expect(found.length).toBe(bytes);
    const path = join(workDirectory, name);
    await import("node:fs/promises").then(({ writeFile }) => writeFile(path, found));
    const connection = await (await DuckDBInstance.create(":memory:")).connect();
    const from = name.endsWith("ndjson") ? `read_json('${path}')` : `'${path}'`;
    rows.push(...((await connection.runAndReadAll(`SELECT * FROM ${from}`)).getRowObjectsJson() as unknown as Row[]));
  }
  expect(rows.length).toBe(done.rows);
  return { rows, done };
}
const SCHEMA = {
  user: { id: "user_id" },
  item: { id: "item_id" },
  interaction: {
    created_at: "created_at",
    label: { type: "Binary", name: "label" },
    source: { query: "SELECT * FROM events" },
    events: MEANINGS,
  },
};

test.each([
  ["plainly", {}, "parquet"],
  ["by a scenario", { scenario: "home" }, "csv"],
  ["shorter", { limit: 3 }, "ndjson"],
  ["with what was chosen before", { scenario: "both" }, "parquet"],
  ["of what was chosen before", { scenario: "again" }, "parquet"],
])("lists are those of the edge, item by item: %s", async (_, more, format) => {
  const { rows, done } = await batchOf({ users: USERS, limit: 20, ...more, format });
  expect(done.users).toBe(USERS.length - 1); // anonymous is u3
  const lists = Map.groupBy(rows, ({ user_id }) => String(user_id));
  for (const user of USERS.filter((id) => id !== "anonymous")) {
    const own = lists.get(user) ?? []; // nobody has chosen nothing
    expect(own.map(({ rank }) => Number(rank))).toEqual(own.map((_, i) => i + 1));
    const expected = await listOf(user, more);
    const [items, edgeItems] = [own, expected].map((list) => list.map(({ item_id }) => String(item_id)));
    const isByAge = "scenario" in more && more.scenario !== "home";
    if (isByAge && Number(user) < 4) {
      // What these users have chosen seconds ago ages between the two lists, and may change its place.
      expect([user, ...items!.sort()]).toEqual([user, ...edgeItems!.sort()]);
      continue;
    }
    expect([user, ...items!]).toEqual([user, ...edgeItems!]);
    for (const [i, { score }] of expected.entries()) expect(Number(own[i]!.score)).toBeCloseTo(score, 3);
  }
});

test("with what was chosen before, a user's first items are chosen ones and new ones, and no item is there twice", async () => {
  const chosen = new Set((await listOf(userId(20), { seen: "only" })).map(({ item_id }) => item_id));
  const both = (await listOf(userId(20), { seen: "include" })).map(({ item_id }) => item_id);
  expect(new Set(both).size).toBe(20);
  const again = both.filter((item) => chosen.has(item));
  expect(again.length).toBeGreaterThan(0);
  expect(again.length).toBeLessThan(20);
  const fresh = (await listOf(userId(20), { seen: "exclude" })).map(({ item_id }) => item_id);
  expect(both.filter((item) => !chosen.has(item))).toEqual(fresh.slice(0, 20 - again.length));
  const only = (await listOf(userId(20), { seen: "only" })).map(({ item_id }) => item_id);
  expect(again).toEqual(only.slice(0, again.length));
});

test("all users of the source, without erased ones", async () => {
  const { rows } = await batchOf({ users: "all", limit: 2 });
  expect([...new Set(rows.map(({ user_id }) => String(user_id)))].sort()).toEqual(["0", "1", "2", "3"]);
  await addErasedUsers(edge.store, "acme", { salt: SALT, hashes: [await erasureHash(SALT, userId(2) as UserId)] });
  const after = await batchOf({ users: ["1", "2"], limit: 2 });
  expect(after.done).toMatchObject({ users: 1, rows: 2 });
});

test("a user who is erased during a batch is in no file that is written afterwards", async () => {
  const users = Array.from({ length: 60 }, (_, i) => userId(60 + i));
  const before = await batchOf({ users, limit: 2 });
  const order = [...new Set(before.rows.map(({ user_id }) => String(user_id)))];
  const [early, late] = [order[5]!, order[55]!]; // the rows of one are in the first file of three, those of the other in the last
  erased.push(early, late);
  const erase = async () => {
    const hashes = await Promise.all([early, late].map((id) => erasureHash(SALT, id as UserId)));
    await addErasedUsers(edge.store, "acme", { salt: SALT, hashes });
  };
  let stored = 0;
  const store = aroundCalls(edge.store, async (name) => {
    if (name === "putIfAbsent" && ++stored === 2) await erase();
  });
  const { rows, done } = await batchOf({ users, limit: 2 }, { store, fileRowsMax: 50 });
  expect([done.files.length, done.rows]).toEqual([3, 118]);
  const found = new Set(rows.map(({ user_id }) => String(user_id)));
  expect(order.filter((id) => !found.has(id))).toEqual([late]);
  const after = await batchOf({ users, limit: 2 }, { fileRowsMax: 50 });
  expect(new Set(after.rows.map(({ user_id }) => String(user_id))).size).toBe(58);
});

test("the users of an item are those who would want it most and have not seen it", async () => {
  const item = (await listOf(userId(9), {}))[4]!.item_id;
  const { rows } = await batchOf({ users: USERS, items: [item], users_per_item: 25 });
  const scores = new Map<string, number>();
  for (const user of USERS.filter((id) => !["anonymous", "nobody", "2", ...erased].includes(id))) {
    const [found] = await listOf(user, { item_ids: [item], exclude_seen: true, limit: 1 });
    if (found) scores.set(user, found.score);
  }
  const best = [...scores].sort((a, b) => b[1] - a[1]).slice(0, 25);
  expect(rows.map(({ user_id }) => String(user_id))).toEqual(best.map(([user]) => user));
  expect(rows.map(({ rank }) => Number(rank))).toEqual(best.map((_, i) => i + 1));
});
