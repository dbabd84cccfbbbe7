import { randomBytes } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { erasedUsersKey, isErased } from "../../../../shared/erased-users.ts";
import type { UserId } from "../../../../shared/ids.ts";
import type { LogEntry } from "../../../../trainer/log/log.ts";
import { type Database, openDatabase } from "../../../../trainer/manage/records/database.ts";
import { type Erasures, erasures, erasuresByHour, pruneErasures } from "../../../../trainer/manage/records/erasures.ts";
import { readErasedUsers } from "../../../../trainer/store/erased-list.ts";
import { type ObjectStore, StoreError } from "../../../../trainer/store/object-store.ts";
import { memoryStore } from "../../../fixtures/memory-store.ts";
import { freshState } from "../../../fixtures/trainer-state.ts";

let database: Database;
let store: ObjectStore;
let erased: Erasures;
let fails: boolean;
let writes: number;
let logs: LogEntry[];
beforeAll(async () => {
  database = await openDatabase(null, await freshState());
});
afterAll(() => database.close());
beforeEach(async () => {
  for (const table of ["erased_users", "erasure_salts"]) await database.query(`delete from shortlist.${table}`);
  const memory = memoryStore();
  fails = false;
  writes = 0;
  logs = [];
  store = {
    ...memory,
    async swap(...write) {
      if (fails) throw new StoreError("down", { retryable: true });
      writes++;
      return memory.swap(...write);
    },
  };
  erased = open();
});

const open = (more: { readonly usersMax?: number } = {}) =>
  erasures({
    ...more,
    database,
    store,
    nowMs: Date.now,
    newSalt: () => randomBytes(16).toString("hex"),
    log: (entry) => void logs.push(entry),
  });
const user = (id: string) => id as UserId;
const isListed = async (id: string, customer = "acme") => {
  const list = await readErasedUsers(store, customer);
  return list !== undefined && (await isErased(list, user(id)));
};
const rows = async () => (await database.query("select * from shortlist.erased_users")) as Record<string, unknown>[];

test("an erased user is on the list of that customer only, and the id is stored nowhere", async () => {
  await erased.erase("acme", user("ann-1234567"));
  expect([await isListed("ann-1234567"), await isListed("bob"), await isListed("ann-1234567", "globex")]).toEqual([
    true,
    false,
    false,
  ]);
  const kept = JSON.stringify([await rows(), await database.query("select * from shortlist.erasure_salts")]);
  const bytes = (await store.get(erasedUsersKey("acme")))!.bytes;
  expect(kept + Buffer.from(bytes).toString("latin1")).not.toContain("ann-1234567");
});

test("erasing a user again changes nothing", async () => {
  await erased.erase("acme", user("ann"));
  const before = (await store.get(erasedUsersKey("acme")))!.etag;
  await erased.erase("acme", user("ann"));
  expect((await store.get(erasedUsersKey("acme")))!.etag).toBe(before);
  expect(await rows()).toMatchObject([{ customer: "acme" }]);
});

test("the hashes of one user differ between customers", async () => {
  await erased.erase("acme", user("ann"));
  await erased.erase("globex", user("ann"));
  const [one, other] = await rows();
  expect(one!.hash).not.toBe(other!.hash);
});

test("simultaneous erasures share writes, and none is lost", async () => {
  const ids = Array.from({ length: 30 }, (_, i) => `user-${i}`);
  const { swap } = store;
  store.swap = async (...write) => {
    await expect.poll(rows).toHaveLength(ids.length); // the first write takes until all rows are there
    return swap(...write);
  };
  await Promise.all(ids.map((id) => erased.erase("acme", user(id))));
  for (const id of ids) expect(await isListed(id)).toBe(true);
  expect(writes).toBe(2);
});

test("if the bucket fails, the call fails, and the next turn of upkeep writes the user to the list", async () => {
  fails = true;
  await expect(erased.erase("acme", user("ann"))).rejects.toThrow("down");
  await erased.settle();
  expect(await isListed("ann")).toBe(false);
  expect(logs).toMatchObject([
    { event: "erased_list_failed", customer: "acme", error: expect.stringContaining("down") },
  ]);
  fails = false;
  await erased.settle();
  expect(await isListed("ann")).toBe(true);
});

test("a list that was lost is restored by the sweep or the next call", async () => {
  await erased.erase("acme", user("ann"));
  await erased.erase("globex", user("gus"));
  await store.delete(erasedUsersKey("acme"));
  await erased.restore();
  expect([await isListed("ann"), await isListed("gus", "globex")]).toEqual([true, true]);
  await store.delete(erasedUsersKey("acme"));
  await erased.erase("acme", user("ann"));
  expect(await isListed("ann")).toBe(true);
});

test("users whom an older copy of the list lacks are added again", async () => {
  await erased.erase("acme", user("ann"));
  const copy = (await store.get(erasedUsersKey("acme")))!.bytes;
  await erased.erase("acme", user("bob"));
  const { etag } = (await store.get(erasedUsersKey("acme")))!;
  await store.swap(erasedUsersKey("acme"), copy, etag);
  await erased.restore();
  expect([await isListed("ann"), await isListed("bob")]).toEqual([true, true]);
});

test("a damaged list of one customer is logged, and the lists of others are restored", async () => {
  await erased.erase("acme", user("ann"));
  await erased.erase("globex", user("gus"));
  const { etag } = (await store.get(erasedUsersKey("acme")))!;
  await store.swap(erasedUsersKey("acme"), new TextEncoder().encode("damaged"), etag);
  await store.delete(erasedUsersKey("globex"));
  await erased.restore();
  expect(await isListed("gus", "globex")).toBe(true);
  expect(logs).toMatchObject([{ event: "erased_list_failed", customer: "acme" }]);
});

test("a user who is erased while a write fails is written by the next one", async () => {
  const { swap } = store;
  let fail = (_: Error) => {};
  store.swap = () => new Promise((_, reject) => (fail = reject));
  const first = erased.erase("acme", user("ann"));
  await expect.poll(rows).toHaveLength(1);
  await setTimeout(20); // the write is in progress
  const second = erased.erase("acme", user("bob"));
  await expect.poll(rows).toHaveLength(2);
  await setTimeout(20); // and the second one waits for it
  store.swap = swap;
  fail(new StoreError("down"));
  await expect(first).rejects.toThrow("down");
  await second;
  expect([await isListed("ann"), await isListed("bob")]).toEqual([true, true]);
});

test("a new database adopts the salt of the existing list", async () => {
  await erased.erase("acme", user("ann"));
  await database.query("delete from shortlist.erased_users");
  await database.query("delete from shortlist.erasure_salts");
  await open().erase("acme", user("bob"));
  expect([await isListed("ann"), await isListed("bob")]).toEqual([true, true]);
  expect(await rows()).toHaveLength(2); // so that what is stored of both has a deadline
});

test("the salt of user hashes outlives the database, also before anybody is erased", async () => {
  const salt = await erased.prepareList("acme");
  await database.query("delete from shortlist.erasure_salts");
  expect(await open().prepareList("acme")).toBe(salt);
});

test("an operator prunes a list that was filled with junk, and it takes users again", async () => {
  const list = open({ usersMax: 4 });
  await list.erase("acme", user("ann"));
  const from = "2020-01-01T00:00:00.000Z";
  await database.query("update shortlist.erased_users set erased_at = '2019-06-01T12:30:00Z'"); // before the junk
  await list.erase("globex", user("gus"));
  for (const junk of ["x1", "x2", "x3"]) await list.erase("acme", user(junk));
  await expect(list.erase("acme", user("bob"))).rejects.toMatchObject({ code: "overloaded" });
  const hours = await erasuresByHour("acme", database);
  expect(hours[0]).toBe("2019-06-01T12:00:00.000Z  1");
  expect(hours.slice(1).reduce((sum, line) => sum + Number(line.split("  ")[1]), 0)).toBe(3);
  const pruning = { customer: "acme", from, until: new Date(Date.now() + 1000).toISOString() };
  expect(await pruneErasures(pruning, { database, store })).toEqual({ removed: 3, left: 1 });
  expect([await isListed("ann"), await isListed("x1"), await isListed("gus", "globex")]).toEqual([true, false, true]);
  await list.erase("acme", user("bob"));
  expect([await isListed("ann"), await isListed("bob")]).toEqual([true, true]);
  await list.restore();
  expect(await isListed("x1")).toBe(false);
});

test("a user who is erased while a list is pruned stays on it", async () => {
  await erased.erase("acme", user("junk"));
  await setTimeout(5);
  const until = new Date().toISOString();
  await setTimeout(5);
  let hasRaced = false;
  const racing: ObjectStore = {
    ...store,
    async swap(...write) {
      if (!hasRaced) {
        hasRaced = true;
        await erased.erase("acme", user("bob"));
      }
      return store.swap(...write);
    },
  };
  const pruning = { customer: "acme", from: "2020-01-01T00:00:00Z", until };
  expect(await pruneErasures(pruning, { database, store: racing })).toEqual({ removed: 1, left: 1 });
  expect([await isListed("junk"), await isListed("bob")]).toEqual([false, true]);
});

test("a full list refuses further users, and accepts listed users again", async () => {
  const trainer = open({ usersMax: 1 });
  const crowd = ["ann", "bob", "cyd"];
  const answers = await Promise.allSettled(crowd.map((id) => trainer.erase("acme", user(id))));
  expect(answers.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  const taken = crowd[answers.findIndex(({ status }) => status === "fulfilled")]!;
  await trainer.erase("acme", user(taken));
  for (const id of crowd.filter((other) => other !== taken))
    await expect(trainer.erase("acme", user(id))).rejects.toMatchObject({ code: "overloaded" });
});
