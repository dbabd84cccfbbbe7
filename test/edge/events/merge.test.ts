/** Users who turn out to be one person, in a real workerd. */
import { createHmac } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { forEachConcurrently } from "../../../shared/concurrently.ts";
import { erasureHash } from "../../../shared/erased-users.ts";
import { PERSON_IDS_MAX } from "../../../shared/events/merges.ts";
import type { UserId } from "../../../shared/ids.ts";
import { addErasedUsers } from "../../../trainer/store/erased-list.ts";
import { changeEventShards } from "../../../trainer/store/event-shards.ts";
import { type EdgeWorld, startEdge } from "../../fixtures/edge-world.ts";
import { exportedFiles } from "../../fixtures/exported-events.ts";

const MEANINGS = { view: { label: true, seen: true } };
const SALT = "00112233445566778899aabbccddeeff";
const SHARDS = ["0-0", "0-1", "0-2", "0-3"];

let edge: EdgeWorld;
let trainer: Server;
const erased: string[] = [];
beforeAll(async () => {
  // What the trainer does with an erasure.
  trainer = createServer(async (request, response) => {
    let text = "";
    for await (const part of request) text += part;
    const user = text === "" ? decodeURIComponent(request.url!.split("/").at(-1)!) : JSON.parse(text).user_id;
    erased.push(user);
    await addErasedUsers(edge.store, "acme", { salt: SALT, hashes: [await erasureHash(SALT, user as UserId)] });
    response.writeHead(202, { "content-type": "application/json" });
    response.end(JSON.stringify({ message: "", user_id: user, honoured_by: new Date().toISOString() }));
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => trainer.once("listening", resolve));
  const { port } = trainer.address() as AddressInfo;
  edge = await startEdge({ vars: { EVENT_EXPORT_SECONDS: 3600, TRAINER_URL: `http://127.0.0.1:${port}` } });
  await edge.publish({ events: { meanings: MEANINGS, learnt: {} } });
});
afterAll(async () => {
  trainer?.close();
  await edge?.stop();
});

let people = 0;
let [user, anonymous] = ["", ""];
beforeEach(() => {
  people++;
  [user, anonymous] = [`user-${people}`, `anonymous-${people}`];
});

const view = async (id: string, ...items: string[]) => {
  const events = items.map((item_id) => ({ user_id: id, item_id, type: "view" }));
  expect((await edge.call("/v0/events", { body: { events } })).status).toBe(200);
};
const merge = async (to: string, from: string, more: object = {}) => {
  const answer = await edge.call(`/v0/users/${to}/merge`, { body: { from }, ...more });
  return { status: answer.status, ...((await answer.json()) as { user_id: string; changed: boolean; code?: string }) };
};
const listOf = async (id: string, { model = "shop", key }: { model?: string; key?: string } = {}) => {
  const answer = await edge.call(`/v0/models/${model}/rank?user_id=${id}&limit=8`, key === undefined ? {} : { key });
  expect(answer.status).toBe(200);
  return { events: Number(answer.headers.get("x-events")), items: (await answer.json()) as string[] };
};
const shown = async (id: string) => {
  const answer = await edge.call(`/v0/users/${id}/events`);
  return ((await answer.json()) as { events: { item_id: string }[] }).events.map(({ item_id }) => item_id).sort();
};

test("the next call has the events of both ids, and those that arrive later under either of them", async () => {
  await view(anonymous, "i1", "i2");
  await view(user, "i6");
  expect(await listOf(user)).toMatchObject({ events: 1, items: expect.arrayContaining(["i1"]) });
  expect(await merge(user, anonymous)).toMatchObject({ status: 200, user_id: user, changed: true });
  const list = await listOf(user);
  expect([list.events, list.items.some((id) => ["i1", "i2", "i6"].includes(id))]).toEqual([3, false]);
  expect(await listOf(anonymous)).toEqual(list);
  await view(anonymous, "i3");
  expect(await listOf(user)).toMatchObject({ events: 4, items: expect.not.arrayContaining(["i3"]) });
  expect(await shown(user)).toEqual(["i1", "i2", "i3", "i6"]);
  expect(await shown(anonymous)).toEqual(["i1", "i2", "i3", "i6"]);
});
test("repeating, merging back and merging inside a chain change nothing", async () => {
  await view(anonymous, "i1");
  await merge(user, anonymous);
  expect(await merge(`${user}-b`, user)).toMatchObject({ user_id: `${user}-b`, changed: true });
  for (const [to, from] of [
    [user, anonymous],
    [anonymous, user],
    [anonymous, `${user}-b`],
    [`${user}-b`, anonymous],
  ])
    expect(await merge(to!, from!)).toMatchObject({ status: 200, user_id: `${user}-b`, changed: false });
  for (const id of [user, anonymous, `${user}-b`]) expect((await listOf(id)).events).toBe(1);
});
test("two merges against each other at the same time are one person", async () => {
  await Promise.all([view(anonymous, "i1"), view(user, "i2")]);
  await Promise.all([merge(user, anonymous), merge(anonymous, user)]);
  expect([(await listOf(user)).events, (await listOf(anonymous)).events]).toEqual([2, 2]);
});
test("long chains stay short to read, and a person has a limited number of ids", async () => {
  const ids = Array.from({ length: 12 }, (_, i) => `${user}-${i}`);
  for (const id of ids) await view(id, "i1");
  for (let i = 1; i < ids.length; i++) await merge(ids[i]!, ids[i - 1]!);
  for (const id of ids) expect((await listOf(id)).events).toBe(12);
  const more = Array.from({ length: PERSON_IDS_MAX - ids.length }, (_, i) => `${user}-more-${i}`);
  await forEachConcurrently(more, 20, async (id) => void (await merge(ids.at(-1)!, id)));
  expect(await merge(ids.at(-1)!, `${user}-more`)).toMatchObject({ status: 409, code: "quota_exceeded" });
  expect((await listOf(ids[0]!)).events).toBe(12);
}, 60_000);
test("records of the version join, and those that it has learnt as one are not needed", async () => {
  await merge("carl", "ann");
  await merge("carl", "bob");
  const { items } = await listOf("carl");
  expect(items.sort()).toEqual(["i2", "i3", "i6", "i7"]); // ann chose 0 and 1, and bob was shown 4 and chose 5
  const learnt = Object.fromEntries(SHARDS.map((shard) => [shard, 1e9]));
  await edge.publish({ modelName: "later", events: { meanings: MEANINGS, learnt } });
  expect((await listOf("carl", { model: "later" })).items.length).toBe(8); // this version is said to have moved both records
});
test("wrong calls are refused, and no other customer is affected", async () => {
  expect(await merge(user, user)).toMatchObject({ status: 400, code: "invalid_parameter" });
  expect((await edge.call(`/v0/users/${user}/merge`, { body: {} })).status).toBe(400);
  expect((await edge.call(`/v0/users/${user}/merge?x=1`, { body: { from: "a" } })).status).toBe(400);
  expect((await edge.call(`/v0/users/${user}/merge`, { body: { from: "a", to: "b" } })).status).toBe(400);
  expect((await edge.call(`/v0/users/${user}/merge`, { body: { from: "x".repeat(5000) } })).status).toBe(413);
  const { key: ranksOnly } = await edge.issueKey({ scopes: ["rank"] });
  expect(await merge(user, anonymous, { key: ranksOnly })).toMatchObject({ status: 403, code: "insufficient_scope" });

  const { key: other } = await edge.issueKey({ customer: "globex" });
  await edge.publish({ customer: "globex", events: { meanings: MEANINGS, learnt: {} } });
  await view(anonymous, "i1");
  expect(await merge(user, anonymous, { key: other })).toMatchObject({ status: 200, changed: true });
  expect([(await listOf(user)).events, (await listOf(user, { key: other })).events]).toEqual([0, 0]);
});
test("a key that requires signed users needs both signatures", async () => {
  const webPages = { origins: ["https://shop.example"], signsUsers: true };
  const { key, userSecret } = await edge.issueKey({ scopes: ["events"], webPages });
  const signed = (id: string) => createHmac("sha256", userSecret!).update(id).digest("hex");
  const headersOf = (of: string, from?: string) => ({
    key,
    headers: {
      origin: webPages.origins[0]!,
      "x-user-signature": signed(of),
      ...(from && { "x-from-signature": signed(from) }),
    },
  });
  expect(await merge(user, anonymous, headersOf(user))).toMatchObject({ status: 403, code: "invalid_user_signature" });
  expect((await merge(user, anonymous, headersOf(anonymous, user))).status).toBe(403);
  expect((await merge(user, anonymous, headersOf(user, anonymous))).status).toBe(200);
});
test("merges stay when the number of shards changes and the old shards are gone", async () => {
  await view(anonymous, "i1");
  await merge(user, anonymous);
  const { generations } = await changeEventShards(edge.store, { customer: "acme", shards: 3, nowMs: Date.now() });
  for (const shard of SHARDS) await edge.alarm(`acme/${shard}`);
  const key = "customers/acme/events/shards.json";
  const found = (await edge.store.get(key))!;
  const newest = { format: 1, generations: generations.slice(-1) };
  await edge.store.swap(key, new TextEncoder().encode(JSON.stringify(newest)), found.etag);
  await view(anonymous, "i2");
  expect((await listOf(user)).events).toBe(1); // the events of the old shards are gone, and no model has learnt them here
  expect(await merge(user, anonymous)).toMatchObject({ changed: false });
  await edge.store.swap(key, found.bytes, (await edge.store.get(key))!.etag);
});
test("erasing one id erases all of them", async () => {
  await view(anonymous, "i1");
  await view(user, "i2");
  await merge(user, anonymous);
  await merge(`${user}-b`, user);
  erased.length = 0;
  expect((await edge.call(`/v0/users/${user}`, { method: "DELETE" })).status).toBe(202);
  expect([erased[0], [...erased].sort()]).toEqual([user, [anonymous, user, `${user}-b`]]);
  for (const id of [user, anonymous]) {
    expect(await listOf(id)).toMatchObject({ events: 0, items: expect.arrayContaining(["i1", "i2"]) });
    expect(await shown(id)).toEqual([]);
  }
  expect(await merge(`${user}-c`, anonymous)).toMatchObject({ status: 200, changed: false });
  erased.length = 0;
  expect((await edge.call("/v0/users/erase", { body: { user_id: anonymous } })).status).toBe(202);
  expect(erased.length).toBe(3); // a repeated call finds all ids, in case that the first one was cut off
  const shards = [...SHARDS, "1-0", "1-1", "1-2"];
  for (const shard of shards) await edge.alarm(`acme/${shard}`);
  const lines = (await exportedFiles(edge.store, "acme")).flatMap(({ events }) => events);
  expect(JSON.stringify(lines)).not.toContain(`"${user}-b"`);
});
