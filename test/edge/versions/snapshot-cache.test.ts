import { beforeEach, expect, test } from "vitest";
import { ReadError } from "../../../edge/reading/artifact-reader.ts";
import { type CacheAccess, snapshotCache, type VersionLoader } from "../../../edge/versions/snapshot-cache.ts";
import { FormatError } from "../../../shared/assert.ts";
import { memoryReader } from "../../fixtures/edge-bucket.ts";
import { liveVersion, smallVersion } from "../../fixtures/edge-version.ts";
import { emptyUserPage } from "../../fixtures/user-page.ts";

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
const cacheOf = () => snapshotCache({ bytes: 100_000_000, pageBytesMax: 1_000_000 }, loader);
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

test("the first request loads a version, the next one finds it in memory", async () => {
  const cache = cacheOf();
  expect(await versionOf(cache)).toBe("v1");
  expect(await versionOf(cache)).toBe("v1");
  expect(loads).toEqual(["v1"]);
  expect(log).toMatchObject([{ event: "version_loaded", model: "shop", version: "v1" }]);
});
test("concurrent requests load a version once", async () => {
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
test("a damaged newer version leaves the older one serving, and is retried with growing pauses", async () => {
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
  expect(attempts).toEqual([0, 1000, 3000, 7000, 11_000, 15_000, 19_000, 23_000, 27_000]);
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
])(
  "without an older version, %s is a problem with Retry-After, and the next request gets it at once",
  async (error, code) => {
    const cache = cacheOf();
    fault = error;
    await expect(versionOf(cache)).rejects.toMatchObject({ code, retryAfterSeconds: 2 });
    await expect(versionOf(cache)).rejects.toMatchObject({ code });
    expect(loads).toEqual(["v1"]);
    expect(log).toMatchObject([{ event: "version_refused", level: "error" }]);
  },
);
test("a failed load releases its reserved memory", async () => {
  const cache = cacheOf();
  fault = new FormatError("flipped");
  await expect(versionOf(cache)).rejects.toThrow();
  fault = undefined;
  now = 2000;
  await versionOf(cache);
  const untroubled = cacheOf();
  await versionOf(untroubled);
  const [after, without] = log.filter((entry) => "used_bytes" in entry);
  expect(after).toMatchObject({ used_bytes: (without as { used_bytes: number }).used_bytes });
});
test("a successful load resets the count of failures", async () => {
  const cache = cacheOf();
  const attemptAt = async (ms: number) => {
    now = ms;
    await cache.lease(V1, access).then(
      ({ release }) => release(),
      () => undefined,
    );
    return loads.length;
  };
  fault = new FormatError("flipped");
  for (const ms of [0, 1000, 3000]) await attemptAt(ms);
  fault = undefined;
  expect(await attemptAt(7000)).toBe(4);
  cache.retireModel(V1, access);
  fault = new FormatError("flipped");
  expect(await attemptAt(8000)).toBe(5);
  expect(await attemptAt(9000)).toBe(6);
});
test("a load whose request was cancelled is restarted after its time", async () => {
  const cache = cacheOf();
  gate = new Promise(() => {});
  void cache.lease(V1, access).catch(() => {});
  await Promise.resolve();
  gate = undefined;
  now = 30_001;
  expect(await versionOf(cache)).toBe("v1");
  expect(loads).toEqual(["v1", "v1"]);
});
test("a roll-back loads the earlier version like any other", async () => {
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

test("pages are evicted before a version is read into their memory", async () => {
  const loadedBytes: number[] = [];
  const large = { ...loader, memoryCostOf: () => ({ heapBytes: 20_000_000, scriptBytes: 0, loadingBytes: 0 }) };
  const cache = snapshotCache(
    { bytes: 40_000_000, pageBytesMax: 10_000_000 },
    {
      ...large,
      async loadVersion(target) {
        loadedBytes.push(cache.pages.usedBytes());
        return smallVersion(target);
      },
    },
  );
  for (const key of "abcdefghijklmnopqrst") cache.pages.put(key, emptyUserPage(500_000), 0);
  expect(cache.pages.usedBytes()).toBeGreaterThan(9_000_000);
  await cache.lease(V1, access);
  expect(loadedBytes).toEqual([cache.pages.usedBytes()]);
  expect(loadedBytes[0]).toBeLessThanOrEqual(40_000_000 - 16 * 2 ** 20 - 20_000_000);
});
