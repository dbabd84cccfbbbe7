/** A shard in a real workerd: what survives a kill, and what reaches the bucket. */
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { shardsOf } from "../../../shared/events/event-store.ts";
import type { UserId } from "../../../shared/ids.ts";
import { type EdgeWorld, startEdge } from "../../fixtures/edge-world.ts";
import { exportedFiles } from "../../fixtures/exported-events.ts";
import { killWorkerd } from "../../fixtures/kill-workerd.ts";

const MEANINGS = { view: { label: true, seen: true } };
const SHARDS = { format: 1 as const, generations: [{ id: 0, shards: 4 }] };
const RANK = "/v0/models/shop/rank?user_id=ann";

let directory: string;
let edge: EdgeWorld;
const start = async () => {
  edge = await startEdge({ r2Directory: directory, vars: { EVENT_EXPORT_SECONDS: 3600 } });
};
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "edge-events-"));
  await start();
});
afterEach(async () => {
  await edge?.stop();
  await rm(directory, { recursive: true, force: true, maxRetries: 5 });
});

const post = async (ids: readonly string[], user = "ann") => {
  const events = ids.map((event_id, i) => ({ event_id, user_id: user, item_id: `i${i % 8}`, type: "view" }));
  return edge.call("/v0/events", { body: { events } });
};
const stored = async (user = "ann") => {
  const answer = await edge.call(`/v0/users/${user}/events`);
  return ((await answer.json()) as { events: { event_id: string }[] }).events.map(({ event_id }) => event_id).sort();
};
const shardOf = async (user: string) => `acme/${(await shardsOf(SHARDS, user as UserId))[0]}`;
/** Each file with the ids of its events. */
const files = async () =>
  (await exportedFiles(edge.store, "acme")).map(({ first, last, events }) => {
    return { first, last, ids: events.map(({ event_id }) => event_id) };
  });
/** Kills workerd as a power cut would, and starts it again with what is on disk. */
const killAndRestart = async () => {
  await killWorkerd();
  await edge.stop();
  await start();
};

test("an event is durable before the answer: it survives a kill right after", async () => {
  await edge.publish({ events: { meanings: MEANINGS, learnt: {} } });
  for (let round = 0; round < 3; round++) {
    expect((await post([`a${round}`])).status).toBe(200);
    await killAndRestart();
  }
  expect(await stored()).toEqual(["a0", "a1", "a2"]);
  expect((await edge.call(RANK)).headers.get("x-events")).toBe("3");
  expect(await (await post(["a0", "b"])).json()).toEqual({ accepted: 1, duplicates: 1 });
});
test("calls that a kill interrupts are stored completely or not at all, and can be repeated", {
  timeout: 60_000,
}, async () => {
  await post(["first"]);
  const ids = (batch: number) => Array.from({ length: 20 }, (_, i) => `${batch}-${i}`);
  const calls = Array.from({ length: 30 }, (_, batch) =>
    post(ids(batch)).then(
      ({ status }) => status,
      () => 0,
    ),
  );
  await Promise.race(calls);
  await killAndRestart();
  const answered = (await Promise.all(calls)).flatMap((status, batch) => (status === 200 ? [batch] : []));
  const counts = Map.groupBy(
    (await stored()).filter((id) => id !== "first"),
    (id) => Number(id.split("-")[0]),
  );
  expect([...counts.keys()]).toEqual(expect.arrayContaining(answered));
  expect([...counts.values()].every((own) => own.length === 20)).toBe(true);
  for (let batch = 0; batch < 30; batch++) expect((await post(ids(batch))).status).toBe(200);
  expect(new Set(await stored()).size).toBe(500); // the most that are shown
});
test("the alarm exports each event once, whatever fails in between", async () => {
  const shard = await shardOf("ann");
  await post(["a", "b"]);
  await edge.inject({ keys: "events/files", kind: "error" });
  await edge.alarm(shard);
  expect(await files()).toEqual([]);
  expect(edge.log.join()).toContain("events_not_exported");
  await edge.inject({ keys: "events/files", kind: "unanswered" }); // written, and then a crash
  await edge.alarm(shard);
  expect(await files()).toEqual([{ first: 1, last: 1, ids: ["a", "b"] }]);
  await post(["c"]);
  await killAndRestart();
  await edge.alarm(shard);
  await edge.alarm(shard);
  expect(await files()).toEqual([
    { first: 1, last: 1, ids: ["a", "b"] },
    { first: 2, last: 2, ids: ["c"] },
  ]);
  expect(await stored()).toEqual(["a", "b", "c"]);
});
test("a version counts the events that it has not learnt", async () => {
  const [, shard] = (await shardOf("ann")).split("/");
  await edge.publish({ events: { meanings: MEANINGS, learnt: {} } });
  await edge.publish({ modelName: "newer", events: { meanings: MEANINGS, learnt: { [shard!]: 1 } } });
  const used = async (model: string) =>
    (await edge.call(`/v0/models/${model}/rank?user_id=ann`)).headers.get("x-events");
  for (const [id, ofShop, ofNewer] of [
    ["a", "1", "0"],
    ["b", "2", "1"],
  ] as const) {
    await post([id]);
    expect([await used("shop"), await used("newer")]).toEqual([ofShop, ofNewer]);
  }
});
test("the alarm runs by itself", async () => {
  await edge.stop();
  edge = await startEdge({ r2Directory: directory, vars: { EVENT_EXPORT_SECONDS: 1 } });
  await post(["a"]);
  await expect.poll(files).toEqual([{ first: 1, last: 1, ids: ["a"] }]);
  await post(["b"]);
  await expect.poll(async () => (await files()).length).toBe(2);
});
test("a shard whose storage is lost goes on after the numbers of its files", async () => {
  const shard = await shardOf("ann");
  for (const id of ["a", "b", "c", "d", "e"]) {
    await post([id]);
    await edge.alarm(shard);
  }
  await edge.stop();
  for (const name of await readdir(directory))
    if (name.includes("do") || name.includes("durable")) await rm(join(directory, name), { recursive: true });
  await start();
  expect(await stored()).toEqual([]);
  await post(["f"]);
  await edge.alarm(shard);
  expect((await files()).at(-1)).toEqual({ first: 6, last: 6, ids: ["f"] });
});
