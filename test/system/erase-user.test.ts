/** Erases a user, from the call at one edge to the next version without the user, on the real runtimes. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ERASED_WITHIN_SECONDS } from "../../shared/erased-users.ts";
import { userHash } from "../../shared/hash.ts";
import { blobKey, type Manifest } from "../../shared/manifest.ts";
import type { ModelRecord } from "../../shared/model-record.ts";
import { stringAt } from "../../shared/packed-strings.ts";
import { decodeUserDirectory } from "../../shared/user-records.ts";
import { readManifest } from "../../trainer/store/versions.ts";
import { type EdgeWorld, startEdge } from "../fixtures/edge-world.ts";
import { exportedFiles } from "../fixtures/exported-events.ts";
import { twoTastes } from "../fixtures/two-tastes.ts";
import { decodeUserPage } from "../fixtures/user-page.ts";
import { startWholeService, type WholeService } from "../fixtures/whole-service.ts";

const ERASED = "user-7";
const RANK = "/v0/models/shop/rank";
const TIMEOUT = 240_000;
const data = twoTastes({ users: 120, items: 30, perUser: 8 });

let folder: string;
let service: WholeService;
let elsewhere: EdgeWorld;
let key: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "erase-user-"));
  const rows = ["user_id,item_id,at,label"];
  for (let user = 0; user < data.userCount; user++)
    for (let row = data.userStart[user]!; row < data.userStart[user + 1]!; row++)
      rows.push(`user-${user},${stringAt(data.itemIds, data.items[row]!)},${data.times[row]},1`);
  await writeFile(join(folder, "clicks.csv"), rows.join("\n"));
  // Cache times as in production.
  const edge = { r2Directory: join(folder, "r2"), vars: { POINTER_CACHE_SECONDS: 4, KEY_CACHE_SECONDS: 25 } };
  service = await startWholeService({
    edge,
    realRuns: true,
    environment: {
      SHORTLIST_FILE_ROOTS: JSON.stringify({ acme: [folder] }),
      SHORTLIST_FIT_SECONDS: "1",
      SHORTLIST_IGNORE_GATE: "true",
    },
  });
  elsewhere = await startEdge({ ...edge, vars: { ...edge.vars, ...service.edgeVars } });
  key = (await service.edge.issueKey({ customer: "acme" })).key;
}, TIMEOUT);
afterAll(async () => {
  await elsewhere?.stop();
  await service?.stop();
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});

const rank = async (user: string, { edge = service.edge, path = RANK, as = key } = {}) => {
  const answer = await edge.call(`${path}?user_id=${user}&limit=30`, { key: as });
  expect(answer.status).toBe(200);
  const [version, strategy] = ["x-model-version", "x-rank-strategy"].map((name) => answer.headers.get(name));
  return { ids: (await answer.json()) as number[], strategy, version };
};
const seenBy = (user: number) =>
  new Set([...data.items.subarray(data.userStart[user]!, data.userStart[user + 1]!)].map((item) => 1000 + item));
const recordOf = async () =>
  (await (await service.edge.call("/v0/models/shop", { key })).json()) as unknown as ModelRecord;
const erase = (user: string) => service.edge.call(`/v0/users/${user}`, { method: "DELETE", key });

/** True if a stored version has a record of the user. */
async function hasRecord(manifest: Manifest, user: string): Promise<boolean> {
  const bytesOf = async (digest: string) => (await service.edge.store.get(blobKey("acme", "shop", digest)))!.bytes;
  const directory = decodeUserDirectory(await bytesOf(manifest.users!.directory.digest));
  const hash = await userHash(directory.salt, user);
  const place = directory.find(hash);
  if (place === undefined) return false;
  const file = await bytesOf(manifest.users!.pages[place.file]!.digest);
  const page = file.slice(place.offset, place.offset + place.length);
  return decodeUserPage(page, hash, manifest.item_count) !== undefined;
}

test("a user can be erased before any model exists", async () => {
  const answer = await erase("user-99");
  expect([answer.status, answer.headers.get("cache-control")]).toEqual([202, "no-store"]);
  expect(await answer.json()).toMatchObject({ user_id: "user-99" });
});

test("an erased user's events leave the shards with the call, and none arrives later", async () => {
  const { edge } = service;
  const post = (user_id: string) =>
    edge.call("/v0/events", { key, body: { events: [{ user_id, item_id: "1001", type: "view" }] } });
  for (const user of ["visitor-1", "visitor-2"]) expect((await post(user)).status).toBe(200);
  expect((await edge.call("/v0/users/erase", { key, body: { user_id: "visitor-2" } })).status).toBe(202);
  expect((await post("visitor-2")).status).toBe(200);
  expect(await (await edge.call("/v0/users/visitor-2/events", { key })).json()).toEqual({
    user_id: "visitor-2",
    events: [],
  });
  for (const number of [0, 1, 2, 3]) await edge.alarm(`acme/0-${number}`);
  const files = await exportedFiles(edge.store, "acme");
  expect(files.flatMap(({ events }) => events.map(({ user_id }) => user_id))).toEqual(["visitor-1"]);
});

test("a model leaves out users erased before and ranks for all others", { timeout: TIMEOUT }, async () => {
  const body = {
    model_name: "shop",
    connector_configs: [{ type: "File", location: "*.csv" }],
    schema: {
      user: { id: "user_id" },
      item: { id: "item_id" },
      interaction: {
        created_at: "at",
        label: { type: "Binary", name: "label" },
        source: { query: "SELECT * FROM clicks" },
      },
    },
  };
  expect((await service.edge.call("/v0/models", { key, body })).status).toBe(201);
  await expect.poll(async () => (await recordOf()).status, { timeout: TIMEOUT, interval: 500 }).toBe("ACTIVE");
  expect((await recordOf()).data).toMatchObject({ users: 119, erased_rows: 8, interactions: 119 * 8 });
  for (const user of [3, 7]) {
    const { ids } = await rank(`user-${user}`);
    expect(ids.filter((id) => seenBy(user).has(id))).toEqual([]);
  }
  expect((await rank("user-99")).ids).toEqual((await rank("nobody")).ids);
});

test("an erased user is unknown at once at this edge and within ten seconds at every other", {
  timeout: TIMEOUT,
}, async () => {
  const world = await elsewhere.issueKey({ customer: "globex" });
  await elsewhere.publish({ customer: "globex", modelName: "shop" });
  const [before, other] = [await rank(ERASED, { edge: elsewhere }), await rank("user-3")];
  const globex = await rank("ann", { edge: elsewhere, as: world.key });
  const unknown = await rank("nobody");
  expect(before.ids).not.toEqual(unknown.ids);

  const begin = performance.now();
  expect((await erase(ERASED)).status).toBe(202);
  expect(await rank(ERASED)).toEqual({ ...unknown, strategy: "popular" });
  await expect
    .poll(async () => (await rank(ERASED, { edge: elsewhere })).ids, { timeout: 20_000, interval: 100 })
    .toEqual(unknown.ids);
  expect(performance.now() - begin).toBeLessThan(ERASED_WITHIN_SECONDS * 1000);

  expect(await rank("user-3")).toEqual(other);
  expect((await service.edge.call("/v0/users/ann", { method: "DELETE", key })).status).toBe(202);
  expect(await rank("ann", { edge: elsewhere, as: world.key })).toEqual(globex);
  const session = { user_id: ERASED, interactions: [{ item_id: 1000 }] };
  const answer = await service.edge.call(RANK, { key, body: session });
  expect(answer.headers.get("x-rank-strategy")).toMatch(/^(session|popular)$/);
});

test("the next version has no record of the erased user and the run counts the rows left out", {
  timeout: TIMEOUT,
}, async () => {
  const { version } = await recordOf();
  const old = (await readManifest(service.edge.store, { customer: "acme", modelName: "shop" }, version!))!;
  expect([await hasRecord(old, ERASED), await hasRecord(old, "user-99")]).toEqual([true, false]);

  expect((await service.edge.call("/v0/models/shop/train", { method: "POST", key })).status).toBe(202);
  await expect.poll(async () => (await recordOf()).version, { timeout: TIMEOUT, interval: 500 }).not.toBe(version);
  const record = await recordOf();
  expect(record.data).toMatchObject({ users: 118, erased_rows: 16 });
  const next = (await readManifest(service.edge.store, { customer: "acme", modelName: "shop" }, record.version!))!;
  expect([next.user_count, await hasRecord(next, ERASED), await hasRecord(next, "user-3")]).toEqual([118, false, true]);
});

test("rolling back does not restore an erased user", async () => {
  const versions = (await (await service.edge.call("/v0/models/shop/versions", { key })).json()) as unknown as {
    versions: { version: string; live: boolean }[];
  };
  const older = versions.versions.find(({ live }) => !live)!;
  const activated = await service.edge.call(`/v0/models/shop/versions/${older.version}/activate`, {
    key,
    method: "POST",
  });
  expect(activated.status).toBe(200);
  await expect.poll(async () => (await rank("nobody")).version).toBe(older.version);
  expect((await rank(ERASED)).ids).toEqual((await rank("nobody")).ids);
});

test("the erased id is in no log and in no stored object", async () => {
  expect(service.edge.log.length).toBeGreaterThan(0);
  expect(JSON.stringify([service.edge.log, service.trainer.logs])).not.toMatch(/user-7\b|user-99/);
  for await (const { key: name } of service.edge.store.list("customers/")) {
    const { bytes } = (await service.edge.store.get(name))!;
    expect(Buffer.from(bytes).toString("latin1")).not.toMatch(/user-7\b|user-99/);
  }
});
