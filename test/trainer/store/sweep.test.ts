import { expect, test } from "vitest";
import { manifestKey } from "../../../shared/manifest.ts";
import { setStatus } from "../../../trainer/store/live-pointer-swap.ts";
import type { ObjectStore } from "../../../trainer/store/object-store.ts";
import { publish } from "../../../trainer/store/publish.ts";
import { sweep } from "../../../trainer/store/sweep.ts";
import { activate, storedVersions } from "../../../trainer/store/versions.ts";
import { faultyStore } from "../../fixtures/faulty-store.ts";
import { memoryStore } from "../../fixtures/memory-store.ts";
import { servedVersion, TINY_MODEL, tinyVersion } from "../../fixtures/tiny-version.ts";

const DAY = 86_400_000;
const signal = new AbortController().signal;

/** Versions v0, v1, … published a day apart, and an orphan blob stored on the first day. */
async function world(count: number) {
  let now = 0;
  const store = memoryStore(() => now);
  await setStatus(store, TINY_MODEL, { status: "DEPLOYING", nowMs: 0 });
  await store.putIfAbsent("models/acme/movies/blobs/orphan", new Uint8Array(1), "x");
  const versions: string[] = [];
  for (let day = 0; day < count; day++) {
    now = day * DAY;
    const built = await tinyVersion(`v${day}`, now);
    const files = { lists: new Uint8Array(1), replay: new Uint8Array(1) };
    await publish(built, new Uint8Array(1), { store, nowMs: () => now, signal, progress: () => {}, ...files });
    versions.push(built.version);
  }
  return { store, versions, nowMs: now };
}
const keysOf = async (store: ObjectStore) => (await Array.fromAsync(store.list(""))).map(({ key }) => key);
const storedNames = async (store: ObjectStore) =>
  (await storedVersions(store, TINY_MODEL)).map(({ version }) => version);

test("the live version and the newest stay, each whole; the rest is deleted", async () => {
  const { store, versions, nowMs } = await world(6);
  await activate(store, TINY_MODEL, { version: versions[1]!, nowMs });
  const deleted = await sweep(store, TINY_MODEL, { keepVersions: 2, graceMs: 1, nowMs: nowMs + DAY, signal });
  expect(await storedNames(store)).toEqual([versions[1], versions[4], versions[5]]);
  expect(deleted).toContain("models/acme/movies/blobs/orphan");
  for (const version of [versions[4]!, versions[5]!, versions[1]!]) {
    await activate(store, TINY_MODEL, { version, nowMs });
    expect(await servedVersion(store, TINY_MODEL)).toBe(version);
  }
  // Pointer; per version a manifest, a report, its lists, its replay and four files; the catalog that all share.
  expect(await keysOf(store)).toHaveLength(1 + 3 * 8 + 1);
});

test("young objects stay", async () => {
  const { store, nowMs } = await world(6);
  const before = await keysOf(store);
  expect(await sweep(store, TINY_MODEL, { keepVersions: 1, graceMs: 10 * DAY, nowMs, signal })).toEqual([]);
  expect(await keysOf(store)).toEqual(before);
});

test("by default the newest ten versions stay, and those of the last two days", async () => {
  const { store, versions, nowMs } = await world(13);
  await sweep(store, TINY_MODEL, { nowMs, signal });
  expect(await storedNames(store)).toEqual(versions.slice(3));
  await sweep(store, TINY_MODEL, { keepVersions: 1, nowMs, signal });
  expect(await storedNames(store)).toEqual(versions.slice(10));
});

test("a sweep that crashed anywhere leaves the live version whole, and the next one finishes", async () => {
  const options = { keepVersions: 1, graceMs: 1, nowMs: 10 * DAY, signal };
  const whole = await world(4);
  const counting = faultyStore(whole.store, null);
  await sweep(counting.store, TINY_MODEL, options);
  const expected = await keysOf(whole.store);
  for (let call = 1; call <= counting.calls.length; call++) {
    const { store, versions } = await world(4);
    await expect(sweep(faultyStore(store, { call, when: "after" }).store, TINY_MODEL, options)).rejects.toThrow(
      "planted",
    );
    expect(await servedVersion(store, TINY_MODEL)).toBe(versions[3]);
    await sweep(store, TINY_MODEL, options);
    expect(await keysOf(store)).toEqual(expected);
  }
});

test("a manifest that cannot be read stops the sweep before it deletes anything", async () => {
  const { store, versions, nowMs } = await world(3);
  const key = manifestKey("acme", "movies", versions[1]!);
  await store.delete(key);
  await store.putIfAbsent(key, new TextEncoder().encode("{"), "x");
  const before = await keysOf(store);
  const options = { keepVersions: 2, graceMs: 0, nowMs: nowMs + DAY, signal };
  await expect(sweep(store, TINY_MODEL, options)).rejects.toThrow("is not a manifest");
  expect(await keysOf(store)).toEqual(before);
});

test("a live version whose manifest is absent keeps its files, and the sweep fails", async () => {
  const { store, versions, nowMs } = await world(3);
  await store.delete(manifestKey("acme", "movies", versions[2]!));
  const before = await keysOf(store);
  const options = { keepVersions: 5, graceMs: 0, nowMs: nowMs + DAY, signal };
  await expect(sweep(store, TINY_MODEL, options)).rejects.toThrow("is absent, but its version is in use");
  expect(await keysOf(store)).toEqual(before);
});

test("a sweep does nothing in a deleted model", async () => {
  const { store, nowMs } = await world(1);
  await setStatus(store, TINY_MODEL, { status: "DESTROYING", nowMs });
  expect(await sweep(store, TINY_MODEL, { graceMs: 0, nowMs: nowMs + DAY, signal })).toEqual([]);
});
