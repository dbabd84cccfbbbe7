/** Publications that die at every write, and two at once, as seen by a real edge on the same bucket. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { blobKey, livePointerKey, manifestKey, prefixOf, reportKey } from "../../shared/manifest.ts";
import { buildVersion } from "../../trainer/publish/build-version.ts";
import type { ObjectStore } from "../../trainer/store/object-store.ts";
import { publish } from "../../trainer/store/publish.ts";
import { s3Store } from "../../trainer/store/s3-store.ts";
import { sweep } from "../../trainer/store/sweep.ts";
import { type BuiltVersion, descriptorsOf } from "../../trainer/store/version-files.ts";
import { activate, readManifest, storedVersions } from "../../trainer/store/versions.ts";
import { SHOP_ITEM_ID_COLUMN, shopDataset, shopModel } from "../fixtures/edge-shop.ts";
import { type EdgeWorld, startEdge } from "../fixtures/edge-world.ts";
import { servedVersion } from "../fixtures/tiny-version.ts";

const MODEL = { customer: "acme", modelName: "shop" };
const SESSION = { interactions: [{ item_id: "i0" }], limit: 2 };
const DAY_MS = 86_400_000;

let edge: EdgeWorld;
let folder: string;
let nowMs: number;
/** The list of each version. */
const lists = new Map<string, readonly string[]>();
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "killed-publish-"));
  edge = await startEdge();
  const { version } = await edge.publish();
  lists.set(version, ["i1", "i2"]);
  nowMs = Date.now();
});
afterAll(async () => {
  await edge?.stop();
  await rm(folder, { recursive: true, force: true });
});

let built = 0;
/** A version with unique files and a list that differs from its neighbours'. */
async function nextVersion(): Promise<BuiltVersion> {
  nowMs += 1000;
  const isReversed = ++built % 2 === 1;
  const version = await buildVersion({
    ...MODEL,
    itemIdColumn: SHOP_ITEM_ID_COLUMN,
    createdAtMs: nowMs,
    dataset: shopDataset(),
    exported: shopModel({ isReversed, padding: built }),
    method: "similarity",
    historyMax: 50,
    workDirectory: await mkdtemp(join(folder, "built-")),
  });
  lists.set(version.version, isReversed ? ["i7", "i6"] : ["i1", "i2"]);
  return version;
}

/** @returns The number of writes, or null if the publication died before its write `dieBeforeWrite`, counted from 1. */
async function publishOnce(built: BuiltVersion, dieBeforeWrite: number | null): Promise<number | null> {
  const { store, writes, hasDied } = mortalStore(s3Store(edge.s3), dieBeforeWrite);
  const context = { store, nowMs: () => nowMs, signal: new AbortController().signal, progress: () => {} };
  try {
    await publish(built, new TextEncoder().encode("{}"), context);
    return writes();
  } catch (error) {
    if (!hasDied()) throw error;
    return null;
  }
}

/**
 * The bucket as a process uses it that dies before one of its writes: neither that write nor any later call reaches the
 * bucket. Reads change nothing, so moments between two writes are equivalent.
 */
function mortalStore(real: ObjectStore, dieBeforeWrite: number | null) {
  let writes = 0;
  let dead = false;
  const around =
    <Args extends readonly unknown[], Result>(call: (...args: Args) => Promise<Result>, isWrite: boolean) =>
    async (...args: Args) => {
      if (isWrite && ++writes === dieBeforeWrite) dead = true;
      if (dead) throw new Error("This process is dead.");
      return await call(...args);
    };
  const store: ObjectStore = {
    ...real,
    get: around(real.get, false),
    head: around(real.head, false),
    putIfAbsent: around(real.putIfAbsent, true),
    swap: around(real.swap, true),
    delete: around(real.delete, true),
  };
  return { store, writes: () => writes, hasDied: () => dead };
}

/** Checks every byte of the live version, and that the edge serves it soon and gives only right answers until then. */
async function served(): Promise<string> {
  const live = (await servedVersion(edge.store, MODEL))!;
  const rank = async () => {
    const answer = await edge.call("/v0/models/shop/rank", { body: SESSION });
    const version = answer.headers.get("x-model-version")!;
    expect([answer.status, await answer.json()]).toEqual([200, lists.get(version)]);
    return version;
  };
  await expect.poll(rank, { timeout: 30_000, interval: 20 }).toBe(live);
  return live;
}

test("a trainer killed before any write leaves a complete version live, and another finishes the work", {
  timeout: 180_000,
}, async () => {
  let before = await served();
  let swaps = 0;
  for (let write = 1; ; write++) {
    const version = await nextVersion();
    const writes = await publishOnce(version, write);
    const now = (await servedVersion(edge.store, MODEL))!;
    if (writes !== null) {
      expect(writes).toBe(write - 1);
      expect(now).toBe(version.version);
      break;
    }
    expect([before, version.version]).toContain(now);
    if (now === version.version) swaps++;
    if (now !== before || write % 8 === 0) expect(await served()).toBe(now);
    // Most are left as they are; a restarted trainer publishes the others again.
    if (write % 4 === 0) {
      expect(await publishOnce(version, null)).not.toBeNull();
      expect(await servedVersion(edge.store, MODEL)).toBe(version.version);
    }
    before = (await servedVersion(edge.store, MODEL))!;
    expect(write).toBeLessThan(100);
  }
  expect(swaps).toBeGreaterThan(0); // some were killed after the pointer swap
});

test("remains of killed trainers are swept and the live version stays", { timeout: 60_000 }, async () => {
  const live = await served();
  expect((await storedVersions(edge.store, MODEL)).length).toBeGreaterThan(2);
  const { signal } = new AbortController();
  await sweep(edge.store, MODEL, { keepVersions: 1, nowMs: nowMs + 3 * DAY_MS, signal });
  expect(await served()).toBe(live);
  const manifest = (await readManifest(edge.store, MODEL, live))!;
  const own = [
    livePointerKey(MODEL.customer, MODEL.modelName),
    manifestKey(MODEL.customer, MODEL.modelName, live),
    reportKey(MODEL.customer, MODEL.modelName, live),
    ...descriptorsOf(manifest).map(({ digest }) => blobKey(MODEL.customer, MODEL.modelName, digest)),
  ];
  const left: string[] = [];
  for await (const { key } of edge.store.list(prefixOf(MODEL.customer, MODEL.modelName))) left.push(key);
  expect(left.sort()).toEqual(own.sort());
});

test("of two concurrent publishers one version is live and complete, and the other can be activated", {
  timeout: 120_000,
}, async () => {
  for (let round = 0; round < 3; round++) {
    const both = [await nextVersion(), await nextVersion()];
    expect(await Promise.all(both.map((version) => publishOnce(version, null)))).not.toContain(null);
    const live = await served();
    for (const { version } of both) await activate(edge.store, MODEL, { version, nowMs });
    expect(both.map(({ version }) => version)).toContain(live);
  }
});
