import { expect, test } from "vitest";
import type { ModelStatus } from "../../../shared/live-pointer.ts";
import { POINTER_WITH_MANIFEST_BYTES_MAX } from "../../../shared/live-pointer.ts";
import { livePointerKey, manifestKey } from "../../../shared/manifest.ts";
import { changeLivePointer, readLivePointer, setStatus } from "../../../trainer/store/live-pointer-swap.ts";
import type { ObjectStore } from "../../../trainer/store/object-store.ts";
import { describe } from "../../../trainer/store/version-files.ts";
import { memoryStore } from "../../fixtures/memory-store.ts";

const model = { customer: "acme", modelName: "movies" };
const key = livePointerKey("acme", "movies");
const manifest = { media_type: "m", digest: `sha256:${"0".repeat(64)}`, size: 1 };
const live = { version: "v1", manifest };
const pointer = (status: ModelStatus, isLive = false) =>
  ({ format: 1, status, live: isLive ? live : null, updated_at: "2026-01-01T00:00:00.000Z" }) as const;
const storing = async (value: unknown): Promise<ObjectStore> => {
  const store = memoryStore();
  await store.swap(key, new TextEncoder().encode(typeof value === "string" ? value : JSON.stringify(value)), null);
  return store;
};
const statusOf = async (store: ObjectStore) => (await readLivePointer(store, model))?.pointer.status;

test("a model that does not exist has no pointer", async () => {
  expect(await readLivePointer(memoryStore(), model)).toBeUndefined();
});

test.each(["", "not json", "{}", '{"format":2}'])("the error of an unreadable pointer %j names it", async (text) => {
  await expect(readLivePointer(await storing(text), model)).rejects.toThrow(key);
});

const after = async (status: ModelStatus, isLive: boolean, next: ModelStatus) => {
  const store = await storing(pointer(status, isLive));
  await setStatus(store, model, { status: next, nowMs: 0 });
  return statusOf(store);
};
test("a first training moves through its states", async () => {
  expect(await after("SCHEDULING", false, "FETCHING")).toBe("FETCHING");
  expect(await after("FETCHING", false, "ERROR")).toBe("ERROR");
  expect(await after("ERROR", false, "SCHEDULING")).toBe("SCHEDULING");
});
test("only a deletion stops the serving of a live version", async () => {
  for (const status of ["FETCHING", "ERROR", "SCHEDULING"] as const)
    expect(await after("ACTIVE", true, status)).toBe("ACTIVE");
  expect(await after("ACTIVE", true, "DESTROYING")).toBe("DESTROYING");
});
test("a tombstone is only written over a pointer, names no version, and can be overwritten by a new model", async () => {
  const empty = memoryStore();
  await setStatus(empty, model, { status: "DESTROYING", nowMs: 0 });
  expect(await statusOf(empty)).toBe(undefined);
  expect(await after("DESTROYING", false, "SCHEDULING")).toBe("SCHEDULING");
  const store = await storing(pointer("ACTIVE", true));
  await setStatus(store, model, { status: "DESTROYING", nowMs: 0 });
  expect((await readLivePointer(store, model))!.pointer.live).toBeNull();
});
test("the first status makes the pointer", async () => {
  const store = memoryStore();
  await setStatus(store, model, { status: "SCHEDULING", nowMs: 0 });
  expect((await readLivePointer(store, model))!.pointer).toMatchObject({ status: "SCHEDULING", live: null });
});

test("after a lost race the change is computed from what the winner wrote", async () => {
  const store = await storing(pointer("FETCHING"));
  let races = 0;
  const racing: ObjectStore = {
    ...store,
    async swap(...args) {
      const now = (await store.get(key))!;
      if (races++ === 0) await store.swap(key, new TextEncoder().encode(JSON.stringify(pointer("ERROR"))), now.etag);
      return store.swap(...args);
    },
  };
  const seen: (string | undefined)[] = [];
  await changeLivePointer(racing, model, (current) => {
    seen.push(current?.status);
    return pointer("TRAINING");
  });
  expect(seen).toEqual(["FETCHING", "ERROR"]);
  expect(await statusOf(store)).toBe("TRAINING");
});

test("after twenty lost races the change fails", async () => {
  const losing: ObjectStore = { ...(await storing(pointer("FETCHING"))), swap: async () => undefined };
  await expect(changeLivePointer(losing, model, () => pointer("TRAINING"))).rejects.toThrow("20 times in a row");
});

/** Makes a version of the given manifest live, in a store whose reads of manifests are counted. */
async function activating(text: string) {
  const inner = await storing(pointer("FETCHING"));
  const bytes = new TextEncoder().encode(text);
  const next = { ...pointer("ACTIVE", true), live: { version: "v1", manifest: await describe(bytes, "m") } };
  await inner.putIfAbsent(manifestKey("acme", "movies", "v1"), bytes, "m");
  let reads = 0;
  const store: ObjectStore = {
    ...inner,
    get(name, range) {
      if (name !== key) reads++;
      return inner.get(name, range);
    },
  };
  await changeLivePointer(store, model, () => next);
  return {
    store,
    manifestJson: async () => (await readLivePointer(store, model))!.pointer.manifest_json,
    reads: () => reads,
  };
}

test("the pointer has the manifest of its live version, which a later change reads no more", async () => {
  const { store, manifestJson, reads } = await activating('{"a manifest": "ü"}');
  expect(await manifestJson()).toBe('{"a manifest": "ü"}');
  await changeLivePointer(store, model, (current) => current && { ...current, default_scenario: "home" });
  expect(await manifestJson()).toBe('{"a manifest": "ü"}');
  expect(reads()).toBe(1);
});

test("the manifest of a version that was live before does not stay", async () => {
  const { store, manifestJson } = await activating("{}");
  const absent = { version: "v2", manifest: { ...manifest, size: 2 } };
  await changeLivePointer(store, model, (current) => current && { ...current, live: absent });
  expect(await manifestJson()).toBeUndefined();
});

test("a manifest that would make the pointer too large is left out", async () => {
  const { manifestJson } = await activating('"'.repeat(POINTER_WITH_MANIFEST_BYTES_MAX - 1000)); // twice as long in JSON
  expect(await manifestJson()).toBeUndefined();
});
