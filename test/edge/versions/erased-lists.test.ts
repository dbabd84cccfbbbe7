import { beforeEach, expect, test } from "vitest";
import { erasedLists } from "../../../edge/versions/erased-lists.ts";
import {
  ERASED_WITHIN_SECONDS,
  encodeErasedUsers,
  erasedUsersKey,
  erasedUsersOf,
  erasureHash,
} from "../../../shared/erased-users.ts";
import type { UserId } from "../../../shared/ids.ts";
import { memoryReader, type Stored } from "../../fixtures/edge-bucket.ts";

const SALT = "00112233445566778899aabbccddeeff";
const KEY = erasedUsersKey("acme");
const listOf = async (...ids: string[]) =>
  encodeErasedUsers(erasedUsersOf(SALT, await Promise.all(ids.map((id) => erasureHash(SALT, id as UserId)))));
const [ANN, BOTH] = [await listOf("ann"), await listOf("ann", "bob")];

let objects: Map<string, Stored>;
let now: number;
let background: Promise<unknown>[];
let lists: ReturnType<typeof erasedLists>;
let reads: string[];
beforeEach(() => {
  objects = new Map([[KEY, ANN]]);
  now = 0;
  background = [];
  lists = erasedLists(4000);
});

const has = (id: string, customer = "acme") => {
  const { reader, reads: made } = memoryReader(objects);
  reads = made;
  const access = { nowMs: () => now, waitUntil: (work: Promise<unknown>) => void background.push(work), reader };
  return lists.isErased(customer, id as UserId, access);
};

test("knows the erased users of each customer", async () => {
  expect([await has("ann"), await has("bob"), await has("ann", "globex")]).toEqual([true, false, false]);
});

test("a list, and the absence of a list, is cached for a while", async () => {
  for (const customer of ["acme", "globex"]) {
    await has("ann", customer);
    now += 3999;
    await has("ann", customer);
    expect(reads).toEqual([]);
  }
});

test("an erasure takes effect within the promised time, at any rate of requests", async () => {
  for (const pause of [100, 1000, 3999, 5000, 9999]) {
    lists = erasedLists(4000);
    objects.set(KEY, ANN);
    await has("bob");
    objects.set(KEY, BOTH);
    const from = now;
    let isKnown = false;
    while (!isKnown) {
      now += pause;
      isKnown = await has("bob");
      await Promise.all(background);
      if (!isKnown) expect(now - from).toBeLessThan(ERASED_WITHIN_SECONDS * 1000);
    }
  }
});

test("after invalidation an erasure takes effect at once, whatever read is in progress", async () => {
  await has("bob");
  now += 4500;
  const { promise, resolve } = Promise.withResolvers<Uint8Array>();
  objects.set(KEY, () => promise);
  await has("bob"); // reads in the background
  objects.set(KEY, BOTH);
  lists.invalidate("acme", now);
  resolve(ANN);
  await Promise.all(background);
  now += 1;
  expect(await has("bob")).toBe(true);
});

test("while the list cannot be read, the older one is used, but never longer than promised", async () => {
  await has("ann");
  objects.set(KEY, () => Promise.reject(new Error("down")));
  now += 9900;
  expect(await has("ann")).toBe(true);
  now += 200;
  await expect(has("ann")).rejects.toMatchObject({ name: "ReadError" });
});

test("a list that has disappeared or is damaged is an error", async () => {
  await has("ann");
  objects.delete(KEY);
  now += 20_000;
  await expect(has("bob")).rejects.toMatchObject({ name: "FormatError" });
  const flipped = ANN.slice();
  flipped[20]! ^= 1;
  objects.set(KEY, flipped);
  await expect(has("bob")).rejects.toMatchObject({ name: "FormatError" });
  objects.set(KEY, BOTH);
  expect(await has("bob")).toBe(true);
});
