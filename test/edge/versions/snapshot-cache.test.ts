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
/** Calls with the pointer to V2 after V1 was confirmed at 0 and the isolate has idled, while V2's load waits for `finish`. */
async function afterIdling(idleMs: number) {
  const cache = cacheOf();
  (await cache.lease(V1, access)).release();
  now = idleMs;
  const { promise, resolve } = Promise.withResolvers<void>();
  gate = promise;
  let answer: string | undefined;
  const call = versionOf(cache, liveVersion("shop", "v2", now)).then((version) => {
    answer = version;
  });
  await settle();
  return { cache, finish: resolve, call, answer: () => answer };
}
/** Lets promises and the timers of polling calls run; the clock stands still. */
const settle = () => new Promise((resolve) => setTimeout(resolve, 30));

test.each([
  [5000, "v1"],
  [10_000, "v1"],
  [10_001, undefined],
  [100_000, undefined],
])(
  "%i ms after the older version was last known to be live, it answers while the newer loads: %s",
  async (ms, version) => {
    const { answer, finish, call } = await afterIdling(ms);
    expect(answer()).toBe(version);
    finish();
    await call;
    expect(answer()).toBe(version ?? "v2");
  },
);
test("after idling, all calls wait for one load of the newer version", async () => {
  const { cache, finish, call } = await afterIdling(12_000);
  const others = Promise.all([1, 2, 3].map(() => versionOf(cache, liveVersion("shop", "v2", now))));
  await settle();
  finish();
  await call;
  expect(await others).toEqual(["v2", "v2", "v2"]);
  expect(loads).toEqual(["v1", "v2"]);
});
test("after idling and a roll-back, the withdrawn version does not answer while the earlier one loads", async () => {
  const { cache, finish, call } = await afterIdling(12_000);
  finish();
  await call;
  await Promise.all(background);
  now += 15_000;
  expect(await versionOf(cache, liveVersion("shop", "v1", now))).toBe("v1");
  expect(loads).toEqual(["v1", "v2", "v1"]);
});
test("after idling, a newer version that cannot be loaded leaves the older one serving", async () => {
  const { cache, finish, call, answer } = await afterIdling(12_000);
  fault = new ReadError("down");
  finish();
  await call;
  expect(answer()).toBe("v1");
  expect(log.at(-1)).toMatchObject({ event: "version_refused", version: "v2" });
  now += 5000; // the next attempt
  gate = new Promise(() => {});
  expect(await versionOf(cache, liveVersion("shop", "v2", now))).toBe("v1");
  expect(loads).toEqual(["v1", "v2", "v2"]);
});
test("calls wait eight seconds for a load, then the older version serves until the load has ended", async () => {
  const { cache, answer } = await afterIdling(12_000);
  const other = versionOf(cache, liveVersion("shop", "v2", now));
  now += 7999;
  await settle();
  expect(answer()).toBeUndefined();
  now += 1;
  expect(await other).toBe("v1");
  now += 10_000;
  expect(await versionOf(cache, liveVersion("shop", "v2", now))).toBe("v1");
});
test("a call whose time ends before the load gets the older version", async () => {
  const { cache } = await afterIdling(12_000);
  const lease = cache.lease(liveVersion("shop", "v2", now), access, now + 2000);
  now += 2000;
  expect((await lease).loaded.target.live.version).toBe("v1");
});
test("after the clock was set back by an hour, the older version is not taken for a live one", async () => {
  const cache = cacheOf();
  now = 3_600_000;
  (await cache.lease(liveVersion("shop", "v1", now), access)).release();
  now = 0;
  expect(await versionOf(cache, V2)).toBe("v2");
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
