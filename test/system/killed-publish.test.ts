/** Trainers killed while publishing, and two that publish at once, as seen by a real edge on the same bucket. */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { blobKey, livePointerKey, manifestKey, prefixOf, reportKey } from "../../shared/manifest.ts";
import { buildVersion } from "../../trainer/publish/build-version.ts";
import { sweep } from "../../trainer/store/sweep.ts";
import { type BuiltVersion, descriptorsOf } from "../../trainer/store/version-files.ts";
import { activate, readManifest, storedVersions } from "../../trainer/store/versions.ts";
import { SHOP_ITEM_ID_COLUMN, shopDataset, shopModel } from "../fixtures/edge-shop.ts";
import { type EdgeWorld, startEdge } from "../fixtures/edge-world.ts";
import type { PublishOrder } from "../fixtures/publish-process.ts";
import { servedVersion } from "../fixtures/tiny-version.ts";

const MODEL = { customer: "acme", modelName: "shop" };
const SESSION = { interactions: [{ item_id: "i0" }], limit: 2 };
const PROGRAM = new URL("../fixtures/publish-process.ts", import.meta.url).pathname;
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

type Ended = { readonly killed: true } | { readonly killed: false; readonly writes: number };

/** Publishes in a separate process. */
async function publishElsewhere(
  { version, manifest, files }: BuiltVersion,
  dieBeforeWrite: number | null,
): Promise<Ended> {
  const bodies = await Promise.all(
    files.map(async ({ descriptor, body }) => {
      const bytes = body instanceof Blob ? await body.arrayBuffer() : body;
      return { descriptor, base64: Buffer.from(bytes as Uint8Array).toString("base64") };
    }),
  );
  const order: PublishOrder = { s3: edge.s3, version, manifest, files: bodies, dieBeforeWrite, nowMs };
  const path = join(folder, `${version}.json`);
  await writeFile(path, JSON.stringify(order));
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [PROGRAM, path], (error, stdout) => {
      if (error === null) resolve({ killed: false, ...(JSON.parse(stdout) as { writes: number }) });
      else if (error.signal === "SIGKILL") resolve({ killed: true });
      else reject(error);
    });
  });
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
  await expect.poll(rank, { timeout: 10_000, interval: 20 }).toBe(live);
  return live;
}

test("a trainer killed before any write leaves a complete version live, and another finishes the work", {
  timeout: 180_000,
}, async () => {
  let before = await served();
  let swaps = 0;
  for (let write = 1; ; write++) {
    const version = await nextVersion();
    const ended = await publishElsewhere(version, write);
    const now = (await servedVersion(edge.store, MODEL))!;
    if (!ended.killed) {
      expect(ended.writes).toBe(write - 1);
      expect(now).toBe(version.version);
      break;
    }
    expect([before, version.version]).toContain(now);
    if (now === version.version) swaps++;
    if (now !== before || write % 8 === 0) expect(await served()).toBe(now);
    // Most are left as they are; a restarted trainer publishes the others again.
    if (write % 4 === 0) {
      expect(await publishElsewhere(version, null)).toMatchObject({ killed: false });
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
    const ended = await Promise.all(both.map((version) => publishElsewhere(version, null)));
    expect(ended.map(({ killed }) => killed)).toEqual([false, false]);
    const live = await served();
    for (const { version } of both) await activate(edge.store, MODEL, { version, nowMs });
    expect(both.map(({ version }) => version)).toContain(live);
  }
});
