import { beforeEach, expect, test } from "vitest";
import { ReadError } from "../../edge/artifact-reader.ts";
import { type CacheAccess, snapshotCache, type VersionLoader } from "../../edge/snapshot-cache.ts";
import { FormatError } from "../../shared/assert.ts";
import { memoryReader } from "../fixtures/edge-bucket.ts";
import { liveVersion, smallVersion } from "../fixtures/edge-version.ts";

const V1 = liveVersion("shop", "v1");
const V2 = liveVersion("shop", "v2");

let now: number;
let loads: string[];
let log: object[];
let background: Promise<unknown>[];
let fault: Error | undefined;
let gate: Promise<void> | undefined;
const { reader } = memoryReader(new Map());
const access: CacheAccess = {
  nowMs: () => now,
  waitUntil: (work) => void background.push(work),
  reader,
  log: (entry) => void log.push(entry),
};
const loader: VersionLoader = {
  readManifest: async (target) => smallVersion(target).manifest,
  memoryCostOf: () => ({ heapBytes: 1000, scriptBytes: 1000, loadingBytes: 0 }),
  async loadVersion(target) {
    loads.push(target.live.version);
    await gate;
    if (fault) throw fault;
    return smallVersion(target);
  },
  heapBytes: () => 0,
};
const cacheOf = () => snapshotCache(100_000_000, loader);
const versionOf = async (cache: ReturnType<typeof cacheOf>, target = V1) =>
  (await cache.lease(target, access)).loaded.target.live.version;

beforeEach(() => {
  now = 0;
  loads = [];
  log = [];
  background = [];
  fault = undefined;
  gate = undefined;
});

test("the first request loads, the next one finds it", async () => {
  const cache = cacheOf();
  expect(await versionOf(cache)).toBe("v1");
  expect(await versionOf(cache)).toBe("v1");
  expect(loads).toEqual(["v1"]);
  expect(log).toMatchObject([{ event: "version_loaded", model: "shop", version: "v1" }]);
});
test("requests that come together load once", async () => {
  const cache = cacheOf();
  expect(await Promise.all(Array.from({ length: 20 }, () => versionOf(cache)))).toEqual(Array(20).fill("v1"));
  expect(loads).toEqual(["v1"]);
});
test("while a newer version loads, the older one serves", async () => {
  const cache = cacheOf();
  await versionOf(cache);
  const { promise, resolve } = Promise.withResolvers<void>();
  gate = promise;
  expect(await versionOf(cache, V2)).toBe("v1");
  expect(await versionOf(cache, V2)).toBe("v1");
  resolve();
  await Promise.all(background);
  expect(await versionOf(cache, V2)).toBe("v2");
  expect(loads).toEqual(["v1", "v2"]);
});
test("a newer version that is damaged leaves the older one serving, and is tried again later and later", async () => {
  const cache = cacheOf();
  await versionOf(cache);
  fault = new FormatError("flipped");
  const attempts: number[] = [];
  for (now = 0; now <= 30_000; now += 500) {
    const before = loads.length;
    expect(await versionOf(cache, V2)).toBe("v1");
    await Promise.all(background);
    if (loads.length > before) attempts.push(now);
  }
  expect(attempts).toEqual([0, 1000, 3000, 7000, 15_000, 23_000]);
  fault = undefined;
  now = 31_000;
  await versionOf(cache, V2);
  await Promise.all(background);
  expect(await versionOf(cache, V2)).toBe("v2");
});
test.each([
  [new FormatError("flipped"), "artifact_unavailable"],
  [new ReadError("down"), "artifact_unavailable"],
  [new TypeError("a bug"), "artifact_unavailable"],
])("without an older one, %s is a problem with Retry-After, at once for the next request too", async (error, code) => {
  const cache = cacheOf();
  fault = error;
  await expect(versionOf(cache)).rejects.toMatchObject({ code, retryAfterSeconds: 2 });
  await expect(versionOf(cache)).rejects.toMatchObject({ code });
  expect(loads).toEqual(["v1"]);
  expect(log).toMatchObject([{ event: "version_refused", level: "error" }]);
});
test("a load whose request died is taken over after its time", async () => {
  const cache = cacheOf();
  gate = new Promise(() => {});
  void cache.lease(V1, access).catch(() => {});
  await Promise.resolve();
  gate = undefined;
  now = 30_001;
  expect(await versionOf(cache)).toBe("v1");
  expect(loads).toEqual(["v1", "v1"]);
});
test("rolling back to the version before works like any other version", async () => {
  const cache = cacheOf();
  await versionOf(cache);
  await versionOf(cache, V2);
  await Promise.all(background);
  expect(await versionOf(cache, V2)).toBe("v2");
  background = [];
  await versionOf(cache, V1);
  await Promise.all(background);
  expect(await versionOf(cache, V1)).toBe("v1");
});
