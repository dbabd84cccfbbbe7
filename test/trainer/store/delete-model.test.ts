import { expect, test } from "vitest";
import { eventFileKey } from "../../../shared/events/event-store.ts";
import { livePointerKey } from "../../../shared/manifest.ts";
import { deleteModel, writeTombstone } from "../../../trainer/store/delete-model.ts";
import { readLivePointer, setStatus } from "../../../trainer/store/live-pointer-swap.ts";
import type { ObjectStore } from "../../../trainer/store/object-store.ts";
import { publish } from "../../../trainer/store/publish.ts";
import { faultyStore } from "../../fixtures/faulty-store.ts";
import { memoryStore } from "../../fixtures/memory-store.ts";
import { TINY_MODEL, tinyVersion } from "../../fixtures/tiny-version.ts";

const signal = new AbortController().signal;
const context = { nowMs: 5, signal };
const EVENTS = eventFileKey("acme", { shard: "0-0", first: 1, last: 9 }); // other models may come that learn them
const OTHERS = [EVENTS, "keys/0a.json", "models/acme/movies2/live.json", "models/acme2/movies/live.json"];

async function world(): Promise<ObjectStore> {
  const store = memoryStore();
  for (const key of OTHERS) await store.putIfAbsent(key, new Uint8Array(1), "x");
  await setStatus(store, TINY_MODEL, { status: "DEPLOYING", nowMs: 0 });
  const built = await tinyVersion("a", 0);
  await publish(built, new Uint8Array(1), { store, nowMs: () => 0, signal, progress: () => {} });
  return store;
}
const keysOf = async (store: ObjectStore) => (await Array.fromAsync(store.list(""))).map(({ key }) => key);

test("every object of the model is deleted, and nothing of another model or of the customer", async () => {
  const store = await world();
  await deleteModel(store, TINY_MODEL, context);
  expect(await keysOf(store)).toEqual(OTHERS);
});

test("the tombstone is written first and deleted last", async () => {
  const store = await world();
  const events: string[] = [];
  const watching: ObjectStore = {
    ...store,
    async delete(key) {
      events.push((await readLivePointer(store, TINY_MODEL))!.pointer.status, key);
      return store.delete(key);
    },
  };
  await deleteModel(watching, TINY_MODEL, context);
  expect(new Set(events.filter((_, i) => i % 2 === 0))).toEqual(new Set(["DESTROYING"]));
  expect(events.at(-1)).toBe(livePointerKey("acme", "movies"));
});

test("a deletion that crashes at any call has stopped the serving or changed nothing, and the next one finishes", async () => {
  const counting = faultyStore(await world(), null);
  await deleteModel(counting.store, TINY_MODEL, context);
  for (let call = 1; call <= counting.calls.length; call++) {
    const store = await world();
    const before = await keysOf(store);
    const faulty = faultyStore(store, { call, when: "after" });
    await expect(deleteModel(faulty.store, TINY_MODEL, context)).rejects.toThrow("planted");
    const status = (await readLivePointer(store, TINY_MODEL))?.pointer.status;
    if (status === "ACTIVE") expect(await keysOf(store)).toEqual(before);
    await deleteModel(store, TINY_MODEL, context);
    expect(await keysOf(store)).toEqual(OTHERS);
  }
});

test("a model whose pointer is damaged can be deleted", async () => {
  const store = await world();
  const key = livePointerKey("acme", "movies");
  await store.swap(key, new TextEncoder().encode('{"format":2}'), (await store.get(key))!.etag);
  await expect(readLivePointer(store, TINY_MODEL)).rejects.toThrow("or delete it with the model");
  await deleteModel(store, TINY_MODEL, context);
  expect(await keysOf(store)).toEqual(OTHERS);
});

test("deleting a model that does not exist does nothing", async () => {
  const store = memoryStore();
  await deleteModel(store, TINY_MODEL, context);
  await writeTombstone(store, TINY_MODEL, { nowMs: 0 });
  expect(await keysOf(store)).toEqual([]);
});

test("objects that appear meanwhile are deleted too; if they never stop, the deletion fails", async () => {
  const store = await world();
  let late = 0;
  const appearing = (most: number): ObjectStore => ({
    ...store,
    async delete(key) {
      if (!key.endsWith("live.json") && late < most)
        await store.putIfAbsent(`models/acme/movies/blobs/late${late++}`, new Uint8Array(1), "x");
      return store.delete(key);
    },
  });
  await deleteModel(appearing(3), TINY_MODEL, context);
  expect(await keysOf(store)).toEqual(OTHERS);
  await store.putIfAbsent("models/acme/movies/blobs/late", new Uint8Array(1), "x");
  await expect(deleteModel(appearing(1e9), TINY_MODEL, context)).rejects.toThrow("keep appearing");
});
