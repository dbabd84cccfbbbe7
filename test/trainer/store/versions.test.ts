import { expect, test } from "vitest";
import { areOfOneModel } from "../../../shared/live-pointer.ts";
import { blobKey, manifestKey } from "../../../shared/manifest.ts";
import { deleteModel } from "../../../trainer/store/delete-model.ts";
import { readLivePointer, setStatus } from "../../../trainer/store/live-pointer-swap.ts";
import { publish } from "../../../trainer/store/publish.ts";
import { activate, readManifest, storedVersions, versionNames } from "../../../trainer/store/versions.ts";
import { memoryStore } from "../../fixtures/memory-store.ts";
import { servedVersion, TINY_MODEL, tinyVersion } from "../../fixtures/tiny-version.ts";

const versions = [await tinyVersion("a", 1000), await tinyVersion("b", 2000), await tinyVersion("c", 3000)] as const;
const [a, b, c] = versions;

async function world() {
  const store = memoryStore();
  await setStatus(store, TINY_MODEL, { status: "DEPLOYING", nowMs: 0 });
  const context = { store, nowMs: () => 0, signal: new AbortController().signal, progress: () => {} };
  for (const version of versions) await publish(version, new Uint8Array(1), context);
  return store;
}
const go = async (store: Awaited<ReturnType<typeof world>>, version: string) =>
  activate(store, TINY_MODEL, { version, nowMs: 9 });

test("versions are listed, the oldest first, with their manifests", async () => {
  const store = await world();
  const stored = await storedVersions(store, TINY_MODEL);
  expect(stored.map(({ version }) => version)).toEqual([a.version, b.version, c.version]);
  expect(await readManifest(store, TINY_MODEL, b.version)).toEqual(b.manifest);
  expect(await readManifest(store, TINY_MODEL, "nothing-like-it")).toBeUndefined();
});

test("a version is rolled back and forward", async () => {
  const store = await world();
  expect(await go(store, a.version)).toEqual(a.manifest);
  expect(await servedVersion(store, TINY_MODEL)).toBe(a.version);
  await go(store, c.version);
  expect(await servedVersion(store, TINY_MODEL)).toBe(c.version);
});

test.each(["nothing-like-it", "../../keys/x", ""])("an unknown version %j is refused", async (version) => {
  const store = await world();
  await expect(go(store, version)).rejects.toMatchObject({ name: "Problem", code: "version_not_found" });
  expect(await servedVersion(store, TINY_MODEL)).toBe(c.version);
});

test("the newest five versions, those of the last day and the live one can be activated", async () => {
  const DAY = 86_400_000;
  let now = 0;
  const store = memoryStore(() => now);
  await setStatus(store, TINY_MODEL, { status: "DEPLOYING", nowMs: 0 });
  const names: string[] = [];
  for (let i = 0; i < 9; i++) {
    now = i * 1000;
    const version = await tinyVersion(`v${i}`, now);
    const signal = new AbortController().signal;
    await publish(version, new Uint8Array(1), { store, nowMs: () => now, signal, progress: () => {} });
    names.push(version.version);
  }
  const listed = (nowMs: number, live: string) => versionNames(store, TINY_MODEL, { live, nowMs });
  expect(await listed(DAY, names[8]!)).toEqual(names);
  expect(await listed(DAY + 3000, names[8]!)).toEqual(names.slice(3));
  expect(await listed(2 * DAY, names[0]!)).toEqual([names[0], ...names.slice(4)]);
  const tooOld = activate(store, TINY_MODEL, { version: names[0]!, nowMs: 2 * DAY });
  await expect(tooOld).rejects.toMatchObject({ code: "version_not_found" });
});

test("a version that has lost a file is not activated", async () => {
  const store = await world();
  await store.delete(blobKey("acme", "movies", a.files[0]!.descriptor.digest));
  await expect(go(store, a.version)).rejects.toThrow("some of its files are not");
  expect(await servedVersion(store, TINY_MODEL)).toBe(c.version);
});

test("a version that has half a file is not activated", async () => {
  const store = await world();
  const key = blobKey("acme", "movies", a.files[0]!.descriptor.digest);
  await store.delete(key);
  await store.putIfAbsent(key, new Uint8Array(1), "x");
  await expect(go(store, a.version)).rejects.toThrow("some of its files are not");
});

test("a damaged manifest is refused by its name", async () => {
  const store = await world();
  await store.delete(manifestKey("acme", "movies", a.version));
  await store.putIfAbsent(manifestKey("acme", "movies", a.version), new TextEncoder().encode("{"), "x");
  await expect(go(store, a.version)).rejects.toThrow(`${a.version}.json is not a manifest`);
});

test("versions of one model are marked as such; those of a later model with its name are not", async () => {
  const store = await world();
  const live = async () => (await readLivePointer(store, TINY_MODEL))!.pointer.live!;
  const newest = await live();
  await go(store, a.version);
  expect([areOfOneModel(newest, await live()), (await live()).version]).toEqual([true, a.version]);
  const signal = new AbortController().signal;
  await deleteModel(store, TINY_MODEL, { nowMs: 10, signal });
  await setStatus(store, TINY_MODEL, { status: "DEPLOYING", nowMs: 11 });
  await publish(await tinyVersion("d", 4000), new Uint8Array(1), { store, nowMs: () => 0, signal, progress: () => {} });
  expect(areOfOneModel(newest, await live())).toBe(false);
});

test("a deleted model is not revived", async () => {
  const store = await world();
  await setStatus(store, TINY_MODEL, { status: "DESTROYING", nowMs: 0 });
  await expect(go(store, a.version)).rejects.toMatchObject({ code: "model_not_found" });
  expect(await servedVersion(store, TINY_MODEL)).toBeNull();
});
