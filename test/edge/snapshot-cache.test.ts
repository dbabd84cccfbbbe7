import { createHash } from "node:crypto";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ReadError } from "../../edge/artifact-reader.ts";
import { settingsOf } from "../../edge/env.ts";
import { type CacheAccess, LOAD_MS_MAX, snapshotCache, type VersionLoader } from "../../edge/snapshot-cache.ts";
import { RESERVATION_MS } from "../../edge/version-memory.ts";
import { FormatError } from "../../shared/assert.ts";
import { memoryReader } from "../fixtures/edge-bucket.ts";
import { liveVersion, smallVersion } from "../fixtures/edge-version.ts";
import { emptyUserPage } from "../fixtures/user-page.ts";

const MB = 2 ** 20;
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
const cacheOf = () => snapshotCache({ bytes: 100_000_000, pageBytesMax: 1_000_000 }, loader, () => {});
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
afterEach(() => vi.useRealTimers());

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

test("pages of records give way to a version before it is read", async () => {
  const loadedBytes: number[] = [];
  const large = { ...loader, memoryCostOf: () => ({ heapBytes: 20_000_000, scriptBytes: 0, loadingBytes: 0 }) };
  const cache = snapshotCache(
    { bytes: 40_000_000, pageBytesMax: 10_000_000 },
    {
      ...large,
      async loadVersion(target) {
        loadedBytes.push(cache.pages.bytes());
        return smallVersion(target);
      },
    },
    () => {},
  );
  for (const key of "abcdefghijklmnopqrst") cache.pages.keep(key, emptyUserPage(500_000), 0);
  expect(cache.pages.bytes()).toBeGreaterThan(9_000_000);
  await cache.lease(V1, access);
  expect(loadedBytes).toEqual([cache.pages.bytes()]);
  expect(loadedBytes[0]).toBeLessThanOrEqual(40_000_000 - 16 * 2 ** 20 - 20_000_000);
});

test("a newer version serves when the records of recent users have been read, a first one at once", async () => {
  const cache = cacheOf();
  const asked: string[] = [];
  const { of } = cache.recentUsers;
  Object.assign(cache.recentUsers, {
    of(model: string) {
      asked.push(model);
      return of(model);
    },
  });
  await versionOf(cache);
  expect(asked).toEqual([]);
  await versionOf(cache, V2);
  await Promise.all(background);
  expect(asked).toEqual(["acme/shop"]);
  expect(await versionOf(cache, V2)).toBe("v2");
});

test("who admits calls hears of every load when it begins", async () => {
  const begun: number[] = [];
  const cache = snapshotCache({ bytes: 100_000_000, pageBytesMax: 0 }, loader, (nowMs) => {
    expect(loads.length).toBe(begun.length);
    begun.push(nowMs);
  });
  now = 7;
  await versionOf(cache);
  now = 9;
  await versionOf(cache, V2);
  await Promise.all(background);
  expect([begun, loads]).toEqual([
    [7, 9],
    ["v1", "v2"],
  ]);
});

/** A version of so many pieces, each of which takes `readMs()` to be read, in a cache that callers ask every two seconds. */
function slowWorld(pieceCount: number, readMs: () => number) {
  vi.useFakeTimers({ now: 0 });
  const bytes = new Uint8Array(pieceCount * 2 * MB);
  const file = {
    media_type: "m",
    digest: `sha256:${createHash("sha256").update(bytes).digest("hex")}`,
    size: bytes.length,
  };
  const stored = () => new Promise<Uint8Array>((resolve) => setTimeout(() => resolve(bytes), readMs()));
  const begunMs: number[] = [];
  const underWay = { now: 0, most: 0 };
  const slow: VersionLoader = {
    ...loader,
    async loadVersion(target, _manifest, from) {
      begunMs.push(Date.now());
      underWay.most = Math.max(underWay.most, ++underWay.now);
      try {
        for await (const _ of from.pieces("k", file));
      } finally {
        underWay.now--;
      }
      return smallVersion(target);
    },
  };
  const cache = snapshotCache({ bytes: 100_000_000, pageBytesMax: 0 }, slow, () => {});
  const slowAccess = { ...access, nowMs: Date.now, reader: memoryReader(new Map([["k", stored]]), 5000).reader };
  const answers: { code: string; atMs: number; tookMs: number }[] = [];
  const ask = async () => {
    const startMs = Date.now();
    const lease = cache.lease(V1, slowAccess).then(({ release }) => release());
    const code = await lease.then(() => "served").catch((error) => error.code as string);
    answers.push({ code, atMs: Date.now(), tookMs: Date.now() - startMs });
  };
  void ask();
  const callers = setInterval(ask, 2000);
  const run = async (milliseconds: number) => {
    await vi.advanceTimersByTimeAsync(milliseconds);
    clearInterval(callers);
  };
  return { run, answers, begunMs, underWay };
}

test("reads that crawl, each within its deadline, end a load while its memory is reserved, and nobody waits longer", async () => {
  const { run, answers, begunMs, underWay } = slowWorld(12, () => 5400); // 35 s
  await run(80_000);
  expect(LOAD_MS_MAX).toBeLessThan(RESERVATION_MS);
  expect(underWay.most).toBe(1);
  expect(begunMs.length).toBeGreaterThan(2); // tried again
  expect(log).toContainEqual(expect.objectContaining({ event: "version_refused" }));
  expect(new Set(answers.map(({ code }) => code))).toEqual(new Set(["artifact_unavailable"]));
  expect(Math.max(...answers.map(({ tookMs }) => tookMs))).toBeLessThanOrEqual(LOAD_MS_MAX + 10);
});
test("slow reads of many pieces are one load, for which all wait", async () => {
  const { run, answers, begunMs } = slowWorld(12, () => 3000); // 20 s
  await run(30_000);
  expect(begunMs).toEqual([0]);
  expect(new Set(answers.map(({ code }) => code))).toEqual(new Set(["served"]));
});

test.each(["hang", "fail"] as const)(
  "when reads that %s are right again, a version serves within ten seconds with the default deadline, whenever that is",
  async (kind) => {
    vi.useFakeTimers();
    const { READ_TIMEOUT_MS } = settingsOf({ MODELS: {} as R2Bucket });
    const worst: number[] = [];
    for (let faultMs = 60_000; faultMs < 80_000; faultMs += 500) {
      vi.setSystemTime(0);
      const stored = async () => {
        if (Date.now() < faultMs) await (kind === "hang" ? new Promise(() => {}) : Promise.reject(new Error("down")));
        return new Uint8Array(1);
      };
      const { reader: faulty } = memoryReader(new Map([["k", stored]]), READ_TIMEOUT_MS);
      const file = {
        media_type: "m",
        digest: `sha256:${createHash("sha256").update(Uint8Array.of(0)).digest("hex")}`,
        size: 1,
      };
      const reading: VersionLoader = {
        ...loader,
        async readManifest(target, from) {
          await from.file("k", file);
          return smallVersion(target).manifest;
        },
      };
      const cache = snapshotCache({ bytes: 100_000_000, pageBytesMax: 0 }, reading, () => {});
      let servedMs: number | undefined;
      const ask = () =>
        cache.lease(V1, { ...access, nowMs: Date.now, reader: faulty }).then(
          () => (servedMs ??= Date.now()),
          () => undefined,
        );
      const callers = setInterval(ask, 2000);
      await vi.advanceTimersByTimeAsync(faultMs + 20_000);
      clearInterval(callers);
      worst.push(servedMs! - faultMs);
    }
    expect(Math.max(...worst)).toBeLessThanOrEqual(10_000);
  },
);
