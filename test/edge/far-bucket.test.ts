/** The data centre's cache in front of R2, and one parallel trip to R2 after idling or in a new isolate. */
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { formatApiKey } from "../../shared/api-key.ts";
import { erasureHash } from "../../shared/erased-users.ts";
import type { UserId } from "../../shared/ids.ts";
import { blobKey, manifestKey } from "../../shared/manifest.ts";
import { addErasedUsers } from "../../trainer/store/erased-list.ts";
import type { BuiltVersion } from "../../trainer/store/version-files.ts";
import { shopItemId, shopModel } from "../fixtures/edge-shop.ts";
import { type EdgeWorld, startEdge } from "../fixtures/edge-world.ts";

const RANK = "/v0/models/shop/rank?user_id=ann";
const RIGHT = [2, 3, 4, 5, 6, 7].map((item) => shopItemId(item, "string"));
/** Rows that nothing uses make the weights larger than two pieces of 2 MiB. */
const PADDING = 150_000;
/** A record is never kept in memory, so that every call needs its page. Key and pointer are stale after two seconds. */
const VARS = { RECORD_MEGABYTES: 0, KEY_CACHE_SECONDS: 1, POINTER_CACHE_SECONDS: 1 };
const STALE_MS = 2100;

let edge: EdgeWorld;
let r2Directory: string;
let version: BuiltVersion;
/** The file with the users' records. */
let pages: string;
let key: string;
let keyId: string;
const start = async (vars = {}) => {
  edge = await startEdge({ vars: { ...VARS, ...vars }, hasCache: true, r2Directory });
};
/** A new isolate in the same data centre. */
const restart = async (vars = {}) => {
  await edge.stop();
  await start(vars);
};
const idle = () => new Promise((resolve) => setTimeout(resolve, STALE_MS));
const rank = async (path = RANK, withKey = key) => {
  const answer = await edge.call(path, { key: withKey });
  return { status: answer.status, items: await answer.json() };
};
/** Each object that was read. A slow machine may read one twice. */
const namesOf = (reads: Awaited<ReturnType<EdgeWorld["reads"]>>) => [
  ...new Set(reads.map(({ key }) => key.replace(/^keys\/.*/, "key")).sort()),
];
const keysRead = async () => namesOf(await edge.reads());
const TRIP = ["customers/acme/erased-users", "key", "models/acme/shop/items/head.bin", "models/acme/shop/live.json"];

beforeAll(async () => {
  r2Directory = await mkdtemp(join(tmpdir(), "edge-cache-"));
  await start();
  version = await edge.publish({ exported: shopModel({ padding: PADDING }) });
  pages = blobKey("acme", "shop", version.manifest.users!.pages[0]!.digest);
  ({ key, keyId } = await edge.issueKey());
});
afterEach(() => edge.damageCache({ kind: "none" }));
afterAll(async () => {
  await edge.stop();
  await rm(r2Directory, { recursive: true, force: true });
});

test("a new isolate with a warm cache reads only key, pointer, changes and erased users from R2, all at once", async () => {
  expect(await rank()).toEqual({ status: 200, items: RIGHT });
  await expect.poll(async () => (await edge.reads()).length).toBe(0);
  await restart();
  await edge.inject({ keys: "", kind: "slow", slowMs: 600 });
  expect(await rank()).toEqual({ status: 200, items: RIGHT });
  const reads = await edge.reads();
  const startedMs = reads.slice(0, TRIP.length).map((read) => read.startedMs);
  expect(namesOf(reads)).toEqual(TRIP);
  expect(Math.max(...startedMs) - Math.min(...startedMs)).toBeLessThan(600);
  await edge.inject(undefined);
});

/** How many reads follow one another, if each takes `readMs`. Objects are read again to fill the cache, which no call waits for. */
function tripsIn(reads: Awaited<ReturnType<EdgeWorld["reads"]>>, readMs: number): number {
  let [trips, sinceMs] = [0, -Infinity];
  const isFirst = ({ key }: (typeof reads)[number], at: number) => reads.findIndex((read) => read.key === key) === at;
  for (const { startedMs } of reads.filter(isFirst))
    if (startedMs >= sinceMs + 0.9 * readMs) [trips, sinceMs] = [trips + 1, startedMs];
  return trips;
}

test("where the cache has nothing, a call makes three trips: key, pointer with manifest, all files and the user's page", async () => {
  await restart();
  await edge.damageCache({ kind: "error" });
  await edge.inject({ keys: "", kind: "slow", slowMs: 500 });
  expect(await rank()).toEqual({ status: 200, items: RIGHT });
  const reads = await edge.reads();
  const { model, catalog, users } = version.manifest;
  const files = [catalog, model.graph, ...model.weights.map(({ file }) => file), users!.pages[0]!];
  const startedMs = files.map(
    ({ digest }) => reads.find(({ key }) => key === blobKey("acme", "shop", digest))!.startedMs,
  );
  expect(Math.max(...startedMs) - Math.min(...startedMs)).toBeLessThan(500);
  expect(tripsIn(reads, 500)).toBe(3);
  expect(namesOf(reads)).not.toContain(blobKey("acme", "shop", users!.directory.digest));
  expect(namesOf(reads)).not.toContain(manifestKey("acme", "shop", version.version));
  await edge.inject(undefined);
});

test("it makes two where the customer of its key is the likely one, and three where it is not", async () => {
  const rival = await edge.issueKey({ customer: "rival" });
  await edge.publish({ customer: "rival", exported: shopModel({ isReversed: true }) });
  for (const [withKey, items, trips] of [
    [key, RIGHT, 2],
    [rival.key, RIGHT.toReversed(), 3],
  ] as const) {
    await restart({ LIKELY_CUSTOMER: "acme" });
    await edge.damageCache({ kind: "error" });
    await edge.inject({ keys: "", kind: "slow", slowMs: 500 });
    expect(await rank(RANK, withKey)).toEqual({ status: 200, items });
    expect(tripsIn(await edge.reads(), 500)).toBe(trips);
  }
  await restart();
});

test("large weights take no more trips than small ones", async () => {
  await edge.publish({ modelName: "large", exported: shopModel({ padding: 812_000 }) }); // 26 MB: thirteen pieces
  await restart();
  await edge.damageCache({ kind: "error" });
  await edge.inject({ keys: "", kind: "slow", slowMs: 1000 });
  expect(await rank(RANK.replace("shop", "large"))).toEqual({ status: 200, items: RIGHT });
  expect(tripsIn(await edge.reads(), 1000)).toBe(3);
  await edge.inject(undefined);
});

test("an isolate that has idled makes the same single trip, and reads the record from the cache", async () => {
  await rank();
  await idle();
  await edge.reads();
  expect(await rank()).toEqual({ status: 200, items: RIGHT });
  expect(await keysRead()).toEqual(TRIP);
});

test("entries that are damaged are found by their digest or checksum, and read again from R2 into the cache", async () => {
  const { weights, graph } = version.manifest.model;
  const files = [weights[0]!.file.digest, graph.digest];
  for (const kind of ["flip", "truncate"] as const) {
    await expect.poll(() => edge.damageCache({ kind, keys: pages })).toBe(1);
    await edge.reads();
    expect(await rank()).toEqual({ status: 200, items: RIGHT });
    expect(await keysRead()).toContain(pages);
  }
  for (const [i, kind] of (["flip", "truncate"] as const).entries())
    expect(await edge.damageCache({ kind, keys: blobKey("acme", "shop", files[i]!) })).toBeGreaterThan(0);
  await restart();
  expect(await rank()).toEqual({ status: 200, items: RIGHT });
  expect(await keysRead()).toEqual([...TRIP, ...files.map((digest) => blobKey("acme", "shop", digest))].sort());
  await expect.poll(keysRead).toEqual([]);
  await restart();
  expect(await rank()).toEqual({ status: 200, items: RIGHT });
  expect(await keysRead()).toEqual(TRIP);
});

test("a cache that fails or hangs fails no call", async () => {
  await restart();
  await edge.damageCache({ kind: "hang" });
  expect(await rank()).toEqual({ status: 200, items: RIGHT });
  await edge.damageCache({ kind: "error" });
  expect(await rank()).toEqual({ status: 200, items: RIGHT });
});

test("a wrong hint about a key's customer shows nothing of that customer", async () => {
  await edge.publish({ customer: "rival", exported: shopModel({ isReversed: true }) });
  await rank();
  expect(await edge.damageCache({ kind: "replace", keys: "customer-of-key/", text: "rival" })).toBe(1);
  await restart();
  await edge.inject({ keys: "keys/", kind: "slow", slowMs: 300 });
  expect(await rank()).toEqual({ status: 200, items: RIGHT });
  expect(await keysRead()).toContain("models/rival/shop/live.json");
  await edge.inject(undefined);
  await restart();
  await rank();
  expect(await keysRead()).toEqual(TRIP); // the hint is right again
});

test("a key that was never issued costs one read", async () => {
  await edge.reads();
  expect((await rank(RANK, formatApiKey(randomBytes(64)))).status).toBe(401);
  expect(await keysRead()).toEqual(["key"]);
});
test("two customers with models and users of the same names each get their own cached files", async () => {
  const rival = await edge.issueKey({ customer: "rival" });
  for (let isolate = 0; isolate < 2; isolate++) {
    expect(await rank(RANK, rival.key)).toEqual({ status: 200, items: RIGHT.toReversed() });
    expect(await rank()).toEqual({ status: 200, items: RIGHT });
    await restart();
  }
});

test("a user who was erased is unknown, although the record is in the cache", async () => {
  await rank();
  const salt = "5a".repeat(16);
  await addErasedUsers(edge.store, "acme", { salt, hashes: [await erasureHash(salt, "ann" as UserId)] });
  await idle();
  expect((await rank()).items).toContain(shopItemId(0, "string"));
});

test("a revoked key stops once its record is stale, in a warm and in a new isolate", async () => {
  await rank();
  await edge.revokeKey(keyId);
  await idle();
  expect((await rank()).status).toBe(401);
  await restart();
  expect((await rank()).status).toBe(401);
});
