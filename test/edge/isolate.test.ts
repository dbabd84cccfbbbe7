import { expect, test } from "vitest";
import { settingsOf } from "../../edge/env.ts";
import { createIsolate } from "../../edge/isolate.ts";
import type { VersionLoader } from "../../edge/versions/snapshot-cache.ts";
import { memoryBucket } from "../fixtures/edge-bucket.ts";
import { liveVersion, smallVersion } from "../fixtures/edge-version.ts";
import { emptyUserPage } from "../fixtures/user-page.ts";

const loader: VersionLoader = {
  readManifest: async (target) => smallVersion(target).manifest,
  memoryCostOf: () => ({ heapBytes: 30_000_000, scriptBytes: 0, loadingBytes: 0 }),
  loadVersion: async (target) => smallVersion(target),
  heapBytes: () => 0,
};

test("CACHE_MEGABYTES is the limit above which a version is refused", async () => {
  const { bucket } = memoryBucket(new Map());
  const of = (CACHE_MEGABYTES: number) =>
    createIsolate(bucket, settingsOf({ MODELS: bucket, CACHE_MEGABYTES }), loader);
  const lease = (isolate: ReturnType<typeof of>) =>
    isolate.versions.lease(liveVersion("shop", "v1"), {
      nowMs: () => 0,
      waitUntil: () => {},
      reader: isolate.reader,
      log: () => {},
    });
  expect((await lease(of(64))).loaded.target.live.version).toBe("v1");
  await expect(lease(of(32))).rejects.toMatchObject({ code: "artifact_unavailable" });
});
test("RECORD_MEGABYTES and the free part of CACHE_MEGABYTES limit the records in memory", () => {
  const { bucket } = memoryBucket(new Map());
  const bytesOf = (megabytes: object) => {
    const { versions } = createIsolate(bucket, settingsOf({ MODELS: bucket, ...megabytes }), loader);
    for (const key of "abcdefghijklmnop") versions.pages.put(key, emptyUserPage(500_000), 0);
    return versions.pages.usedBytes();
  };
  expect(bytesOf({})).toBeGreaterThan(7_400_000);
  expect(bytesOf({})).toBeLessThanOrEqual(8_000_000);
  expect(bytesOf({ RECORD_MEGABYTES: 0 })).toBe(0);
  expect(bytesOf({ CACHE_MEGABYTES: 18, RECORD_MEGABYTES: 64 })).toBeLessThan(18e6 - 16 * 2 ** 20);
});
test("the quota of calls whose callers hung up is returned once they could no longer be under way", () => {
  const { bucket } = memoryBucket(new Map());
  const { ranks, rankBodies } = createIsolate(bucket, settingsOf({ MODELS: bucket }), loader);
  for (const [shares, longestMs] of [
    [rankBodies, 10_000],
    [ranks, 13_000],
  ] as const) {
    while (shares.take("acme", 0)) {}
    expect(shares.take("acme", longestMs)).toBeUndefined();
    expect(shares.take("acme", longestMs + 2000)).toBeDefined();
  }
});
