/** Loads of versions while reads are slow, hang or fail, with the default timeout of reads. */
import { createHash } from "node:crypto";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { settingsOf } from "../../edge/env.ts";
import { LOAD_MS_MAX, snapshotCache, type VersionLoader } from "../../edge/versions/snapshot-cache.ts";
import { RESERVATION_MS } from "../../edge/versions/version-memory.ts";
import { memoryReader } from "../fixtures/edge-bucket.ts";
import { liveVersion, smallVersion } from "../fixtures/edge-version.ts";
import { hashAtOnce } from "../fixtures/hash-at-once.ts";

const { READ_TIMEOUT_MS } = settingsOf({ MODELS: {} as R2Bucket });
const V1 = liveVersion("shop", "v1");
const BYTE = new Uint8Array(1);
const FILE = { media_type: "m", digest: `sha256:${createHash("sha256").update(BYTE).digest("hex")}`, size: 1 };
const sleep = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

beforeEach(() => {
  vi.useFakeTimers({ now: 0 });
  hashAtOnce();
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** A version of `fileCount` files, read one after another. A caller that waits for up to `callMs` asks every two seconds. */
function world(fileCount: number, read: () => Promise<unknown>, callMs = 28_000) {
  const begunMs: number[] = [];
  const underWay = { now: 0, most: 0 };
  const loader: VersionLoader = {
    readManifest: async (target) => smallVersion(target).manifest,
    memoryCostOf: () => ({ heapBytes: 1000, scriptBytes: 1000, loadingBytes: 0 }),
    async loadVersion(target, _manifest, reader) {
      begunMs.push(Date.now());
      underWay.most = Math.max(underWay.most, ++underWay.now);
      try {
        for (let file = 0; file < fileCount; file++) await reader.file("k", FILE);
      } finally {
        underWay.now--;
      }
      return smallVersion(target);
    },
    heapBytes: () => 0,
  };
  const cache = snapshotCache({ bytes: 100_000_000, pageBytesMax: 0 }, loader);
  const { reader } = memoryReader(new Map([["k", () => read().then(() => BYTE)]]), READ_TIMEOUT_MS);
  const access = { nowMs: Date.now, waitUntil: () => {}, reader, log: () => {} };
  const answers: { outcome: string; atMs: number; tookMs: number }[] = [];
  const call = async () => {
    const startMs = Date.now();
    const lease = cache.lease(V1, access, startMs + callMs);
    const outcome = await lease
      .then(({ release }) => release())
      .then(
        () => "served",
        (error) => (error.code ?? error.name) as string,
      );
    answers.push({ outcome, atMs: Date.now(), tookMs: Date.now() - startMs });
  };
  void call();
  const callers = setInterval(call, 2000);
  const run = async (milliseconds: number) => {
    await vi.advanceTimersByTimeAsync(milliseconds);
    clearInterval(callers);
  };
  return { run, answers, begunMs, underWay };
}

test("slow reads that each meet their timeout end a load while its memory is reserved, and no call waits longer", async () => {
  const { run, answers, begunMs, underWay } = world(10, () => sleep(READ_TIMEOUT_MS - 100)); // 49 s
  await run(80_000);
  expect(LOAD_MS_MAX).toBeLessThan(RESERVATION_MS);
  expect(underWay.most).toBe(1);
  expect(begunMs.length).toBeGreaterThan(2); // tried again
  expect(new Set(answers.map(({ outcome }) => outcome))).toEqual(new Set(["artifact_unavailable"]));
  expect(Math.max(...answers.map(({ tookMs }) => tookMs))).toBeLessThanOrEqual(LOAD_MS_MAX + 10);
});

test("slow reads of many files are one load, for which all calls wait", async () => {
  const { run, answers, begunMs } = world(10, () => sleep(2000)); // 20 s
  await run(30_000);
  expect(begunMs).toEqual([0]);
  expect(new Set(answers.map(({ outcome }) => outcome))).toEqual(new Set(["served"]));
});

test("a call with less time than a load takes fails at its deadline, and there is still one load", async () => {
  const { run, answers, begunMs } = world(10, () => sleep(2000), 5000);
  await run(30_000);
  expect(begunMs).toEqual([0]);
  const early = answers.filter(({ atMs }) => atMs < 20_000);
  expect(new Set(early.map(({ outcome }) => outcome))).toEqual(new Set(["artifact_unavailable"]));
  expect(Math.max(...early.map(({ tookMs }) => tookMs))).toBeLessThanOrEqual(5010);
  expect(new Set(answers.filter(({ atMs }) => atMs >= 20_100).map(({ outcome }) => outcome))).toEqual(
    new Set(["served"]),
  );
});

test.each([
  ["hang", () => new Promise(() => {})],
  ["fail", () => Promise.reject(new Error("down"))],
])("a version serves within ten seconds after reads no longer %s", async (_, fault) => {
  const recoveryMs: number[] = [];
  for (let faultMs = 40_000; faultMs < 56_000; faultMs += 1000) {
    vi.setSystemTime(0);
    const { run, answers } = world(1, () => (Date.now() < faultMs ? fault() : Promise.resolve()));
    await run(faultMs + 15_000);
    recoveryMs.push(answers.find(({ outcome }) => outcome === "served")!.atMs - faultMs);
  }
  expect(Math.max(...recoveryMs)).toBeLessThanOrEqual(10_000);
});
