import { expect, test } from "vitest";
import type { ObjectBody, ObjectStore } from "../../trainer/store/object-store.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const text = async (store: ObjectStore, key: string) => {
  const found = await store.get(key);
  return found && new TextDecoder().decode(found.bytes);
};
const keysOf = async (store: ObjectStore, prefix: string) => {
  const keys: string[] = [];
  for await (const { key } of store.list(prefix)) keys.push(key);
  return keys;
};

/**
 * The tests that every object store must pass.
 *
 * @param fresh Opens a store that no other process writes to. It may hold objects of earlier tests, so each test has its own prefix.
 */
export function objectStoreSuite(fresh: () => Promise<ObjectStore>): void {
  let prefixCount = 0;
  const world = async () => ({ store: await fresh(), prefix: `suite/${prefixCount++}` });

  test("an object is read back unchanged, whole and in ranges", async () => {
    const { store, prefix } = await world();
    await store.putIfAbsent(`${prefix}/a`, bytes("hello"), "text/plain");
    expect(await text(store, `${prefix}/a`)).toBe("hello");
    expect(await store.head(`${prefix}/a`)).toBe(5);
    const part = async (offset: number, length: number) =>
      new TextDecoder().decode((await store.get(`${prefix}/a`, { offset, length }))?.bytes);
    expect(await part(1, 3)).toBe("ell");
    expect(await part(0, 1)).toBe("h");
    expect(await part(3, 100)).toBe("lo");
  });

  test("an absent key is undefined, not an error", async () => {
    const { store, prefix } = await world();
    expect(await store.get(`${prefix}/a`)).toBeUndefined();
    expect(await store.get(`${prefix}/a`, { offset: 0, length: 1 })).toBeUndefined();
    expect(await store.head(`${prefix}/a`)).toBeUndefined();
    await store.delete(`${prefix}/a`);
  });

  test("an object may be empty", async () => {
    const { store, prefix } = await world();
    await store.putIfAbsent(`${prefix}/a`, bytes(""), "text/plain");
    expect(await store.head(`${prefix}/a`)).toBe(0);
    expect(await text(store, `${prefix}/a`)).toBe("");
  });

  test("putIfAbsent keeps an existing object", async () => {
    const { store, prefix } = await world();
    await store.putIfAbsent(`${prefix}/a`, bytes("first"), "text/plain");
    await store.putIfAbsent(`${prefix}/a`, bytes("second"), "text/plain");
    expect(await text(store, `${prefix}/a`)).toBe("first");
  });

  test.each([0, 1, 100_000])("a Blob of %i bytes is stored byte for byte", async (size) => {
    const { store, prefix } = await world();
    const body = Uint8Array.from({ length: size }, (_, i) => (i * 31 + (i >> 8)) & 255);
    await store.putIfAbsent(`${prefix}/a`, new Blob([body]) as ObjectBody, "application/octet-stream");
    expect(Buffer.from((await store.get(`${prefix}/a`))!.bytes).equals(body)).toBe(true);
  });

  test("swap writes only over the etag it names", async () => {
    const { store, prefix } = await world();
    const key = `${prefix}/pointer`;
    expect(await store.swap(key, bytes("x"), "0123456789abcdef0123456789abcdef")).toBeUndefined();
    const first = await store.swap(key, bytes("one"), null);
    expect(first).toBeDefined();
    expect((await store.get(key))!.etag).toBe(first);
    expect(await store.swap(key, bytes("two"), null)).toBeUndefined();
    const second = await store.swap(key, bytes("two"), first!);
    expect(second).toBeDefined();
    expect(await store.swap(key, bytes("three"), first!)).toBeUndefined();
    expect(await text(store, key)).toBe("two");
  });

  test("exactly one of many swaps over the same etag wins", async () => {
    const { store, prefix } = await world();
    const key = `${prefix}/pointer`;
    for (const etag of [null, (await store.swap(`${prefix}/pointer2`, bytes("old"), null)) ?? null]) {
      const target = etag === null ? key : `${prefix}/pointer2`;
      const tries = Array.from({ length: 8 }, (_, i) => store.swap(target, bytes(`writer ${i}`), etag));
      const won = (await Promise.all(tries)).flatMap((result, i) => (result === undefined ? [] : [i]));
      expect(won).toHaveLength(1);
      expect(await text(store, target)).toBe(`writer ${won[0]}`);
    }
  });

  test("list gives keys in order with sizes and times, only of the prefix", async () => {
    const { store, prefix } = await world();
    const before = Date.now();
    for (const name of ["b", "a/2", "a/1", "c"]) {
      await store.putIfAbsent(`${prefix}/x/${name}`, bytes(name), "text/plain");
    }
    await store.putIfAbsent(`${prefix}/y`, bytes("other"), "text/plain");
    expect(await keysOf(store, `${prefix}/x/`)).toEqual(["a/1", "a/2", "b", "c"].map((k) => `${prefix}/x/${k}`));
    for await (const { size, modifiedMs, key } of store.list(`${prefix}/x/`)) {
      expect(size).toBe(key.length - `${prefix}/x/`.length);
      expect(Math.abs(modifiedMs - before)).toBeLessThan(60_000);
    }
    expect(await keysOf(store, `${prefix}/nothing/`)).toEqual([]);
  });

  test("deleting objects while listing them misses none", async () => {
    const { store, prefix } = await world();
    const names = Array.from({ length: 25 }, (_, i) => `${prefix}/${String(i).padStart(3, "0")}`);
    await Promise.all(names.map((key) => store.putIfAbsent(key, bytes("x"), "text/plain")));
    const deleted: string[] = [];
    for await (const { key } of store.list(`${prefix}/`)) {
      await store.delete(key);
      deleted.push(key);
    }
    expect(deleted).toEqual(names);
    expect(await keysOf(store, `${prefix}/`)).toEqual([]);
  });

  test.each(["", "/a", "a//b", "a/../b", "a b", "a/.", "ä", "a%2fb"])("refuses the key %j", async (key) => {
    const { store } = await world();
    await expect(store.get(key)).rejects.toThrow(JSON.stringify(key));
    await expect(store.putIfAbsent(key, bytes("x"), "text/plain")).rejects.toThrow("object key");
  });
}
