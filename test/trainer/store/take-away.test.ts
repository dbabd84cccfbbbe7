import { expect, test } from "vitest";
import { memoryStore } from "../../../trainer/store/memory-store.ts";
import type { ListedObject, ObjectStore } from "../../../trainer/store/object-store.ts";
import { takeAway } from "../../../trainer/store/take-away.ts";
import { faultyStore } from "../../fixtures/faulty-store.ts";

const signal = new AbortController().signal;
const bytesOf = (key: string) => new TextEncoder().encode(`the bytes of ${key}`);

async function world(count = 3) {
  const store = memoryStore();
  for (let i = 0; i < count; i++) await store.putIfAbsent(`o${i}`, bytesOf(`o${i}`), "x");
  return { store, objects: await listed(store) };
}
const listed = (store: ObjectStore): Promise<ListedObject[]> => Array.fromAsync(store.list(""));
const keysOf = async (store: ObjectStore) => (await listed(store)).map(({ key }) => key);
/** Looks that find these keys needed, one after the other; the last of them from then on. */
const looks = (...needed: readonly string[][]) => {
  let look = 0;
  return async () => new Set(needed[Math.min(look++, needed.length - 1)]);
};

test("what nobody needs goes, what somebody needs is never touched", async () => {
  const { store, objects } = await world();
  const watched: string[] = [];
  const watching: ObjectStore = { ...store, delete: (key) => store.delete(key).then(() => void watched.push(key)) };
  expect(await takeAway(watching, objects, { needed: looks(["o1"]), signal })).toEqual(["o0", "o2"]);
  expect([watched, await keysOf(store)]).toEqual([["o0", "o2"], ["o1"]]);
});

test("what somebody has come to need by the time it is gone is put back as it was", async () => {
  const { store, objects } = await world();
  expect(await takeAway(store, objects, { needed: looks([], ["o2"]), signal })).toEqual(["o0", "o1"]);
  expect(new TextDecoder().decode((await store.get("o2"))!.bytes)).toBe("the bytes of o2");
});

test("objects go by batches, with a look after each", async () => {
  const { store, objects } = await world(250);
  const deleted = await takeAway(store, objects, {
    needed: looks(
      [],
      [],
      objects.map(({ key }) => key),
    ),
    signal,
  });
  expect(deleted).toHaveLength(100);
  expect(await keysOf(store)).toHaveLength(150);
});

test("an object of many bytes is a batch of its own, and comes back whole", async () => {
  const store = memoryStore();
  const large = new Uint8Array(33 * 2 ** 20).fill(7);
  for (const key of ["a", "b", "c"]) await store.putIfAbsent(key, large, "x");
  const deleted = await takeAway(store, await listed(store), { needed: looks([], [], ["b"]), signal });
  expect(deleted).toEqual(["a", "c"]);
  expect(Buffer.compare((await store.get("b"))!.bytes, large)).toBe(0);
});

test("after an interruption, or when nobody can tell what is needed, all of the batch is there again", async () => {
  const { store, objects } = await world();
  let failing = true;
  const unlucky: ObjectStore = {
    ...store,
    async delete(key) {
      await store.delete(key);
      if (key === "o1" && failing) throw new Error("down");
    },
  };
  await expect(takeAway(unlucky, objects, { needed: looks([], ["o0", "o1"]), signal })).rejects.toThrow("down");
  expect(await keysOf(store)).toEqual(["o0", "o1", "o2"]);
  failing = false;
  let look = 0;
  const needed = async () => (look++ === 0 ? new Set<string>() : Promise.reject(new Error("no look")));
  await expect(takeAway(unlucky, objects, { needed, signal })).rejects.toThrow("no look");
  expect(await keysOf(store)).toEqual(["o0", "o1", "o2"]);
});

test("what was replaced or deleted since it was listed is left to whoever did it", async () => {
  const { store, objects } = await world();
  await store.delete("o0");
  await store.delete("o1");
  await store.putIfAbsent("o1", new Uint8Array(1), "x");
  expect(await takeAway(store, objects, { needed: looks([]), signal })).toEqual(["o2"]);
  expect(await keysOf(store)).toEqual(["o1"]);
});

test("nothing goes after the signal, or when the first look fails", async () => {
  const { store, objects } = await world();
  await expect(takeAway(store, objects, { needed: looks([]), signal: AbortSignal.abort() })).rejects.toThrow();
  const blind = faultyStore(store, { call: 1, when: "before" }).store;
  const needed = async () => new Set(await keysOf(blind));
  await expect(takeAway(store, objects, { needed, signal })).rejects.toThrow("planted");
  expect(await keysOf(store)).toHaveLength(3);
});
