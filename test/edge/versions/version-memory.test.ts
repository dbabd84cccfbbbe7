import { beforeEach, expect, test } from "vitest";
import { RESERVATION_MS, versionKey, versionMemory } from "../../../edge/versions/version-memory.ts";
import { firstVersion, liveVersion, smallVersion } from "../../fixtures/edge-version.ts";

const MB = 1024 * 1024;
const RUNTIME = 16 * MB;
const cost = (megabytes: number, loadingMegabytes = 0) => ({
  heapBytes: (megabytes * MB) / 2,
  scriptBytes: (megabytes * MB) / 2,
  loadingBytes: loadingMegabytes * MB,
});

let now: number;
let heap: number;
const access = { nowMs: () => now, waitUntil: () => {} };
const memoryOf = (megabytes: number) => versionMemory(RUNTIME + megabytes * MB, () => heap);
const put = async (memory: ReturnType<typeof versionMemory>, name: string, version: string, megabytes: number) => {
  const loaded = smallVersion(liveVersion(name, version));
  const release = await memory.reserve(loaded.target, cost(megabytes), access);
  release();
  memory.add(loaded, cost(megabytes), access, now);
  return loaded;
};
const names = (memory: ReturnType<typeof versionMemory>) =>
  memory.versions().map((key) => key.split("/").slice(1).join(" "));

beforeEach(() => {
  now = 0;
  heap = RUNTIME;
});

test("an added version can be leased, another cannot", async () => {
  const memory = memoryOf(10);
  await put(memory, "shop", "v1", 1);
  expect(memory.lease(liveVersion("shop", "v1"), access)?.loaded.target.live.version).toBe("v1");
  expect(memory.lease(liveVersion("shop", "v2"), access)).toBeUndefined();
  expect(memory.leaseOther(liveVersion("shop", "v2"), access)?.loaded.target.live.version).toBe("v1");
  expect(memory.leaseOther(liveVersion("other", "v2"), access)).toBeUndefined();
});
test("changes of a version's catalog count as its memory, and may evict another version", async () => {
  let changes = 0;
  const memory = versionMemory(
    RUNTIME + 10 * MB,
    () => heap,
    ({ target }) => (target.modelName === "shop" ? changes : 0),
  );
  await put(memory, "other", "v1", 4);
  await put(memory, "shop", "v1", 4);
  const [usedBytes, lease] = [memory.usedBytes(now), memory.lease(liveVersion("shop", "v1"), access)!];
  changes = 3 * MB;
  expect(memory.usedBytes(now)).toBe(usedBytes + 3 * MB);
  lease.release();
  expect(names(memory)).toEqual(["shop v1"]);
});
test("spare memory is the budget without versions, reservations and loads", async () => {
  const memory = memoryOf(95);
  expect(memory.spareBytes(now)).toBe(95 * MB);
  await put(memory, "a", "v1", 10);
  expect(memory.spareBytes(now)).toBe(85 * MB);
  const release = await memory.reserve(liveVersion("b", "v1"), cost(80, 5), access);
  expect(memory.spareBytes(now)).toBe(121e6 - RUNTIME - 95 * MB); // the limit of an isolate, without the temporary memory of the load
  release();
  expect(memory.spareBytes(now)).toBe(85 * MB);
  heap = RUNTIME + 200 * MB; // grown beyond what was reserved
  await put(memory, "c", "v1", 1);
  expect(memory.spareBytes(now)).toBe(0);
});
test("the least recently used version is evicted first, and its session is released", async () => {
  const memory = memoryOf(10);
  const first = await put(memory, "a", "v1", 4);
  now = 1;
  await put(memory, "b", "v1", 4);
  now = 2;
  memory.lease(first.target, access)!.release();
  now = 3;
  await put(memory, "c", "v1", 4);
  expect(names(memory)).toEqual(["a v1", "c v1"]);
  expect(first.released()).toBe(0);
  now = 4;
  await put(memory, "d", "v1", 9);
  expect(names(memory)).toEqual(["d v1"]);
  expect(first.released()).toBe(1);
});
test("a version in use is never evicted, however long ago its lease began", async () => {
  const memory = memoryOf(10);
  const used = await put(memory, "a", "v1", 4);
  memory.lease(used.target, access);
  now = 1;
  await put(memory, "b", "v1", 4);
  await put(memory, "c", "v1", 4);
  expect(names(memory)).toEqual(["a v1", "c v1"]);
});
test("a newer version retires the older one, which stays while it is used", async () => {
  const memory = memoryOf(10);
  const older = await put(memory, "shop", "v1", 2);
  const lease = memory.lease(older.target, access)!;
  await put(memory, "shop", "v2", 2);
  expect(names(memory)).toEqual(["shop v1", "shop v2"]);
  lease.release();
  expect(names(memory)).toEqual(["shop v2"]);
  expect(older.released()).toBe(1);
});
test("a version whose load began earlier does not retire one whose load began later", async () => {
  const memory = memoryOf(100);
  const older = smallVersion(liveVersion("shop", "v1"));
  now = 10;
  const newer = await put(memory, "shop", "v2", 10);
  now = 20;
  memory.add(older, cost(10), access, 0);
  expect(names(memory)).toEqual(["shop v2", "shop v1"]);
  expect(memory.lease(newer.target, access)?.loaded).toBe(newer);
  now = 30;
  await put(memory, "shop", "v3", 10);
  expect(names(memory)).not.toContain("shop v1");
});
test("a deleted model's version is not leased for a new model of that name, and is evicted as soon as nobody uses it", async () => {
  const memory = memoryOf(10);
  const deleted = await put(memory, "shop", "v1", 2);
  await put(memory, "other", "v1", 2);
  const lease = memory.lease(deleted.target, access)!;
  const target = firstVersion("shop", "v2");
  expect(memory.leaseOther(target, access)).toBeUndefined();
  expect(names(memory)).toEqual(["shop v1", "other v1"]);
  lease.release();
  expect(names(memory)).toEqual(["other v1"]);
  expect(deleted.released()).toBe(1);
});
test("a retired version is not leased in place of another", async () => {
  const memory = memoryOf(10);
  const older = await put(memory, "shop", "v1", 2);
  memory.lease(older.target, access);
  await put(memory, "shop", "v2", 2);
  expect(memory.leaseOther(liveVersion("shop", "v3"), access)?.loaded.target.live.version).toBe("v2");
});
test("retiring a model evicts all its versions and no others", async () => {
  const memory = memoryOf(10);
  const used = await put(memory, "shop", "v1", 2);
  await put(memory, "other", "v1", 2);
  const lease = memory.lease(used.target, access)!;
  await put(memory, "shop", "v2", 2);
  memory.retireModel({ customer: "acme", modelName: "shop" }, access);
  expect(names(memory)).toEqual(["shop v1", "other v1"]);
  lease.release();
  expect(names(memory)).toEqual(["other v1"]);
  memory.retireModel({ customer: "acme", modelName: "unknown" }, access);
  expect(names(memory)).toEqual(["other v1"]);
});
test("if a version is loaded twice, the second copy is released: the first may be in use", async () => {
  const memory = memoryOf(10);
  const first = await put(memory, "shop", "v1", 2);
  const lease = memory.lease(first.target, access)!;
  const second = await put(memory, "shop", "v1", 2);
  expect([first.released(), second.released()]).toEqual([0, 1]);
  await put(memory, "shop", "v2", 2);
  lease.release();
  expect([first.released(), second.released()]).toEqual([1, 1]);
  expect(names(memory)).toEqual(["shop v2"]);
});
test("a retired version stays if it is live again", async () => {
  const memory = memoryOf(10);
  const older = await put(memory, "shop", "v1", 2);
  const lease = memory.lease(older.target, access)!;
  await put(memory, "shop", "v2", 2);
  const again = memory.lease(older.target, access)!;
  lease.release();
  again.release();
  expect(names(memory)).toContain("shop v1");
});
test("an older version of the same model is evicted last, since it serves meanwhile", async () => {
  const memory = memoryOf(10);
  await put(memory, "shop", "v1", 4);
  now = 1;
  await put(memory, "other", "v1", 4);
  await memory.reserve(liveVersion("shop", "v2"), cost(4), access);
  expect(names(memory)).toEqual(["shop v1"]);
});
test("versions are evicted if the load would not fit into an isolate, even if the version fits the budget", async () => {
  const memory = memoryOf(90);
  await put(memory, "a", "v1", 50);
  await memory.reserve(liveVersion("b", "v1"), cost(30, 15), access);
  expect(names(memory)).toEqual(["a v1"]);
  await memory.reserve(liveVersion("c", "v1"), cost(5, 30), access);
  expect(names(memory)).toEqual([]);
});
test("a version that fits the budget is loaded even if its load alone is beyond the limit of an isolate", async () => {
  const memory = memoryOf(100);
  await memory.reserve(liveVersion("a", "v1"), cost(90, 50), access);
  expect(memory.usedBytes(now)).toBe(RUNTIME + 90 * MB);
});
test("a version larger than the budget is refused, and nothing is evicted for it", async () => {
  const memory = memoryOf(10);
  await put(memory, "shop", "v1", 4);
  await expect(memory.reserve(liveVersion("big", "v1"), cost(11), access)).rejects.toThrow("needs 11534336 bytes");
  expect(names(memory)).toEqual(["shop v1"]);
});
test("while everything is in use a load waits, and gets its memory once it is free", async () => {
  const memory = memoryOf(10);
  const used = await put(memory, "a", "v1", 8);
  const lease = memory.lease(used.target, access)!;
  const reserved = memory.reserve(liveVersion("b", "v1"), cost(8), access);
  lease.release();
  await reserved;
  expect(names(memory)).toEqual([]);
});
test("two versions that do not fit together load one after the other", async () => {
  const memory = memoryOf(10);
  const order: string[] = [];
  const load = async (name: string) => {
    const loaded = smallVersion(liveVersion(name, "v1"));
    const release = await memory.reserve(loaded.target, cost(8), access);
    expect(memory.usedBytes(now)).toBe(RUNTIME + 8 * MB);
    await Promise.resolve();
    release();
    memory.add(loaded, cost(8), access, now);
    order.push(name);
  };
  await Promise.all([load("a"), load("b")]);
  expect(order).toEqual(["a", "b"]);
  expect(names(memory)).toEqual(["b v1"]);
});
test("if everything stays in use, the load fails with overloaded and reserves nothing", async () => {
  const memory = memoryOf(10);
  const used = await put(memory, "a", "v1", 8);
  memory.lease(used.target, access);
  const ticking = { nowMs: () => (now += 1000), waitUntil: () => {} };
  await expect(memory.reserve(liveVersion("b", "v1"), cost(8), ticking)).rejects.toMatchObject({ code: "overloaded" });
  expect(memory.usedBytes(now)).toBe(RUNTIME + 8 * MB);
});
test("an older version in constant use is paused and evicted for the newer one; if that fails, it is leased again", async () => {
  const memory = memoryOf(10);
  const older = await put(memory, "shop", "v1", 8);
  const newer = liveVersion("shop", "v2");
  const ticking = { nowMs: () => (now += 100), waitUntil: () => {} };
  let lease = memory.lease(older.target, access);
  let isWaiting = true;
  const calls = (async () => {
    while (isWaiting) {
      const next = memory.leaseOther(newer, access); // leased before the previous lease ends
      lease?.release();
      lease = next;
      await new Promise(setImmediate);
    }
  })();
  (await memory.reserve(newer, cost(8), ticking))();
  isWaiting = false;
  await calls;
  expect(names(memory)).toEqual([]);

  const again = await put(memory, "shop", "v3", 4);
  memory.lease(again.target, access); // never released
  await expect(memory.reserve(newer, cost(8), ticking)).rejects.toMatchObject({ code: "overloaded" });
  expect(memory.leaseOther(newer, access)?.loaded).toBe(again);
});
test("an older version is not paused if another model is in the way as well", async () => {
  const memory = memoryOf(10);
  for (const name of ["shop", "other"]) memory.lease((await put(memory, name, "v1", 4)).target, access);
  const newer = liveVersion("shop", "v2");
  const ticking = { nowMs: () => (now += 100), waitUntil: () => {} };
  let isWaiting = true;
  const reserved = memory.reserve(newer, cost(8), ticking).finally(() => (isWaiting = false));
  reserved.catch(() => undefined);
  for (; isWaiting; await new Promise(setImmediate)) expect(memory.leaseOther(newer, access)).toBeDefined();
  await expect(reserved).rejects.toMatchObject({ code: "overloaded" });
});
test("a reservation expires if its load was cancelled", async () => {
  const memory = memoryOf(10);
  await memory.reserve(liveVersion("a", "v1"), cost(8), access);
  now = RESERVATION_MS + 1;
  await memory.reserve(liveVersion("b", "v1"), cost(8), access);
  expect(memory.usedBytes(now)).toBe(RUNTIME + 8 * MB);
});
test("heap growth that no version explains counts as used", async () => {
  const memory = memoryOf(10);
  heap = RUNTIME + 5 * MB; // after a version that should need 2
  await put(memory, "a", "v1", 4);
  expect(memory.usedBytes(now)).toBe(RUNTIME + 7 * MB);
  await put(memory, "b", "v1", 4);
  expect(names(memory)).toEqual(["b v1"]);
});
test("if a load has grown the heap more than was reserved, other versions are evicted, never the new one", async () => {
  const memory = memoryOf(10);
  await put(memory, "a", "v1", 4);
  heap = RUNTIME + 9 * MB;
  await put(memory, "b", "v1", 4);
  expect(names(memory)).toEqual(["b v1"]);
  heap = RUNTIME + 90 * MB;
  await put(memory, "c", "v1", 4);
  expect(names(memory)).toEqual(["c v1"]);
});
test("a version in use when the heap grew too far is evicted once it is free", async () => {
  const memory = memoryOf(10);
  const used = await put(memory, "a", "v1", 4);
  const lease = memory.lease(used.target, access)!;
  heap = RUNTIME + 9 * MB;
  const added = await put(memory, "b", "v1", 4);
  expect(memory.usedBytes(now)).toBeGreaterThan(RUNTIME + 10 * MB);
  const other = memory.lease(added.target, access)!;
  lease.release();
  expect(names(memory)).toEqual(["a v1", "b v1"]); // the other is in use now
  other.release();
  expect(names(memory)).toEqual(["b v1"]);
  expect(memory.usedBytes(now)).toBeLessThanOrEqual(RUNTIME + 10 * MB);
});
test("heap growth that the versions explain is not counted twice", async () => {
  const memory = memoryOf(10);
  heap = RUNTIME + 2 * MB;
  await put(memory, "a", "v1", 4);
  expect(memory.usedBytes(now)).toBe(RUNTIME + 4 * MB);
});
test("if only the heap growth is over the budget, the load goes on", async () => {
  const memory = memoryOf(10);
  heap = RUNTIME + 50 * MB;
  await put(memory, "a", "v1", 4);
  await put(memory, "b", "v1", 4);
  expect(names(memory)).toEqual(["b v1"]);
});
test("keys contain customer, model and version", () => {
  expect(versionKey(liveVersion("shop", "v1"))).toBe("acme/shop/v1");
});

const arm = (version: string) => ({
  ...liveVersion("shop", version),
  serving: new Set(["v1", "v2", "v3"]),
  standIn: "v1",
});
test("an arm's version takes no memory of the other versions of its model, and the live one serves in its place", async () => {
  const memory = memoryOf(10);
  await put(memory, "shop", "v1", 6);
  await expect(memory.reserve(arm("v2"), cost(6), access)).rejects.toMatchObject({ code: "overloaded" });
  expect(names(memory)).toEqual(["shop v1"]);
  expect(memory.leaseOther(arm("v2"), access)?.loaded.target.live.version).toBe("v1");
});
test("an arm's version evicts versions of other models, and those that do not serve any more", async () => {
  const memory = memoryOf(12);
  await put(memory, "other", "v1", 4);
  await put(memory, "shop", "v0", 4);
  const release = await memory.reserve(arm("v2"), cost(12), access);
  expect(names(memory)).toEqual([]);
  release();
});
test("the live version evicts that of an arm", async () => {
  const memory = memoryOf(10);
  await put(memory, "shop", "v2", 6);
  await memory.reserve({ ...liveVersion("shop", "v1"), serving: arm("v2").serving }, cost(6), access);
  expect(names(memory)).toEqual([]);
});
test("of several versions, the live one stands in for an arm, also if another was used later", async () => {
  const memory = memoryOf(20);
  const { serving } = arm("v2");
  for (const version of ["v1", "v2"]) {
    const loaded = smallVersion({ ...liveVersion("shop", version), serving });
    memory.add(loaded, cost(2), access, now++);
    memory.lease(loaded.target, access)!.release();
  }
  expect(memory.leaseOther({ ...arm("v3"), standIn: undefined }, access)?.loaded.target.live.version).toBe("v2");
  expect(memory.leaseOther(arm("v3"), access)?.loaded.target.live.version).toBe("v1");
});
