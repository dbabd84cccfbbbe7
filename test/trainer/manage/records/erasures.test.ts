import { randomBytes } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { decodeErasedUsers, ERASED_USERS_MAX, erasedUsersKey, isErased } from "../../../../shared/erased-users.ts";
import type { UserId } from "../../../../shared/ids.ts";
import type { LogEntry } from "../../../../trainer/log/log.ts";
import { type Database, openDatabase, type Queries } from "../../../../trainer/manage/records/database.ts";
import { type Erasures, erasures } from "../../../../trainer/manage/records/erasures.ts";
import { readErasedUsers } from "../../../../trainer/store/erased-list.ts";
import { type ObjectStore, StoreError } from "../../../../trainer/store/object-store.ts";
import { memoryStore } from "../../../fixtures/memory-store.ts";
import { findPostgres, startPostgres } from "../../../fixtures/postgres-server.ts";
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

const open = (on: Database = database) =>
  erasures({
    database: on,
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
  expect(await rows()).toMatchObject([{ customer: "acme", listed: true }]);
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
    await expect.poll(rows, { timeout: 30_000 }).toHaveLength(ids.length); // the first write takes until all rows are there
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
  await open().settle();
  expect(await isListed("ann")).toBe(true);
});

test("lastBefore gives each customer's last erasure before a time", async () => {
  await erased.erase("acme", user("ann"));
  await erased.erase("globex", user("gus"));
  const last = await erased.lastBefore(Date.now() + 1000);
  expect(last.map(({ customer }) => customer).sort()).toEqual(["acme", "globex"]);
  expect(await erased.lastBefore(Math.min(...last.map(({ erasedMs }) => erasedMs)))).toEqual([]);
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

test("a long lost list is restored in few statements; a user who is erased meanwhile is written afterwards", async () => {
  await erased.erase("acme", user("ann"));
  const hashes = Array.from({ length: 2500 }, () => randomBytes(8).toString("hex"));
  const values = hashes.map((hash) => `('acme', '${hash}', now(), true)`).join(", ");
  await database.query(`insert into shortlist.erased_users (customer, hash, erased_at, listed) values ${values}`);
  await store.delete(erasedUsersKey("acme"));
  let statements = 0;
  let late: Promise<void> | undefined;
  const watched = open({
    ...database,
    query: (text, given) => {
      if (/listed = true/.test(text)) {
        statements++;
        late ??= erased.erase("acme", user("late"));
      }
      return database.query(text, given);
    },
  });
  await watched.restore();
  await late;
  expect(await isListed("late")).toBe(true);
  const { bytes } = (await store.get(erasedUsersKey("acme")))!;
  expect(decodeErasedUsers(bytes).high.length).toBe(2502);
  expect((await rows()).filter(({ listed }) => !listed)).toEqual([]);
  expect(statements).toBeLessThan(10);
});

test("users whom an older copy of the list lacks are added again", async () => {
  await erased.erase("acme", user("ann"));
  const copy = (await store.get(erasedUsersKey("acme")))!.bytes;
  await erased.erase("acme", user("bob"));
  const { etag } = (await store.get(erasedUsersKey("acme")))!;
  await store.swap(erasedUsersKey("acme"), copy, etag);
  await erased.restore();
  expect([await isListed("ann"), await isListed("bob")]).toEqual([true, true]);
  expect(await rows()).toMatchObject([{ listed: true }, { listed: true }]);
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
});

/** The same database with a slow count that adds a number of users. */
function fuller(database: Database, by: number): Database {
  const counted = ({ query }: Queries): Queries => ({
    async query(text, values) {
      const rows = await query(text, values);
      if (!text.startsWith("select count(*)")) return rows;
      await setTimeout(100);
      return rows.map(({ count }) => ({ count: Number(count) + by }));
    },
  });
  const transaction: Database["transaction"] = (work) => database.transaction((queries) => work(counted(queries)));
  return { ...database, ...counted(database), transaction };
}

describe("a list with room for one", () => {
  const nearlyFull = (on: Database) => open(fuller(on, ERASED_USERS_MAX - 1));
  const crowd = ["ann", "bob", "cyd", "dan", "eve"];
  const room = async (trainers: readonly Erasures[]) => {
    const answers = await Promise.allSettled(
      crowd.map((id, i) => trainers[i % trainers.length]!.erase("acme", user(id))),
    );
    return crowd.filter((_, i) => answers[i]!.status === "fulfilled");
  };

  test("takes one of several simultaneous users, refuses the others, and accepts listed users again", async () => {
    const trainer = nearlyFull(database);
    const [taken, ...rest] = await room([trainer]);
    expect(rest).toEqual([]);
    await trainer.erase("acme", user(taken!));
    for (const id of crowd) {
      expect(await isListed(id)).toBe(id === taken);
      if (id !== taken) await expect(trainer.erase("acme", user(id))).rejects.toMatchObject({ code: "overloaded" });
    }
  });

  const bin = findPostgres();
  if (bin === undefined) console.warn("No Postgres server on this machine: erasures by two trainers are not tested.");
  test.skipIf(bin === undefined)("takes one of those who come to two trainers of one server", async () => {
    const server = await startPostgres(bin!);
    const url = `postgres://owner:${encodeURIComponent(server.password)}@127.0.0.1:${server.port}/postgres`;
    const databases = [await openDatabase(url, ""), await openDatabase(url, "")];
    try {
      expect(await room(databases.map(nearlyFull))).toHaveLength(1);
    } finally {
      for (const opened of databases) await opened.close();
      await server.stop();
    }
  });
});
