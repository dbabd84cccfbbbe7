import { expect, test } from "vitest";
import { ERASED_USERS_MAX, erasedUsersKey, hashesOf } from "../../../shared/erased-users.ts";
import { addErasedUsers, readErasedUsers } from "../../../trainer/store/erased-list.ts";
import type { ObjectStore } from "../../../trainer/store/object-store.ts";
import { memoryStore } from "../../fixtures/memory-store.ts";

const salt = "00112233445566778899aabbccddeeff";
const [ANN, BOB, CYD] = ["aaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbb", "cccccccccccccccc"] as const;
const listed = async (store: ObjectStore, customer = "acme") => hashesOf((await readErasedUsers(store, customer))!);

test("a list is made, grows, and keeps to its customer", async () => {
  const store = memoryStore();
  expect(await readErasedUsers(store, "acme")).toBeUndefined();
  await addErasedUsers(store, "acme", { salt, hashes: [BOB] });
  await addErasedUsers(store, "acme", { salt, hashes: [ANN, BOB] });
  await addErasedUsers(store, "globex", { salt, hashes: [CYD] });
  expect([await listed(store), await listed(store, "globex")]).toEqual([[ANN, BOB], [CYD]]);
});

test("adding a user who is on the list already writes nothing", async () => {
  const store = memoryStore();
  await addErasedUsers(store, "acme", { salt, hashes: [ANN, BOB] });
  const swap = () => Promise.reject(new Error("written"));
  await addErasedUsers({ ...store, swap }, "acme", { salt, hashes: [BOB] });
});

test("what another trainer writes between reading and writing is kept", async () => {
  const store = memoryStore();
  await addErasedUsers(store, "acme", { salt, hashes: [ANN] });
  let races = 3;
  const racing: ObjectStore = {
    ...store,
    async swap(...write) {
      if (races-- > 0) await addErasedUsers(store, "acme", { salt, hashes: [`000000000000000${races}`] });
      return store.swap(...write);
    },
  };
  await addErasedUsers(racing, "acme", { salt, hashes: [BOB] });
  expect(await listed(store)).toEqual(["0000000000000000", "0000000000000001", "0000000000000002", ANN, BOB]);
});

test("a full list refuses further users and stays unchanged", async () => {
  const store = memoryStore();
  const hashes = Array.from({ length: ERASED_USERS_MAX }, (_, i) => i.toString(16).padStart(16, "0"));
  await addErasedUsers(store, "acme", { salt, hashes });
  const before = (await store.get(erasedUsersKey("acme")))!.etag;
  await expect(addErasedUsers(store, "acme", { salt, hashes: [ANN] })).rejects.toMatchObject({ code: "overloaded" });
  await addErasedUsers(store, "acme", { salt, hashes: [hashes[7]!] });
  expect((await store.get(erasedUsersKey("acme")))!.etag).toBe(before);
});

test("a write that always loses the race fails as retryable", async () => {
  const store = { ...memoryStore(), swap: async () => undefined };
  await expect(addErasedUsers(store, "acme", { salt, hashes: [ANN] })).rejects.toMatchObject({ retryable: true });
});

test("a list with another salt is not changed", async () => {
  const store = memoryStore();
  await addErasedUsers(store, "acme", { salt, hashes: [ANN] });
  const other = { salt: "ff".repeat(16), hashes: [BOB] };
  await expect(addErasedUsers(store, "acme", other)).rejects.toThrow("another database");
  expect(await listed(store)).toEqual([ANN]);
});

test("a damaged list is reported and not overwritten", async () => {
  const store = memoryStore();
  const key = erasedUsersKey("acme");
  await store.swap(key, new TextEncoder().encode("SHORTLST?"), null);
  await expect(addErasedUsers(store, "acme", { salt, hashes: [ANN] })).rejects.toThrow("is damaged");
  expect((await store.get(key))!.bytes.length).toBe(9);
});
