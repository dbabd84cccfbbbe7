import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Hash64, userHash } from "../../../shared/hash.ts";
import type { ItemIndex } from "../../../shared/ids.ts";
import { packStrings } from "../../../shared/packed-strings.ts";
import type { UserRecord } from "../../../shared/snapshot.ts";
import { decodeUserDirectory } from "../../../shared/user-records.ts";
import type { PackOptions } from "../../../trainer/publish/write-user-records.ts";
import type { Interactions } from "../../../trainer/read/dataset/dataset.ts";
import { historiesOf } from "../../../trainer/read/spool/user-histories.ts";
import { packedUserRecords } from "../../fixtures/packed-user-records.ts";
import { decodeUserPage } from "../../fixtures/user-page.ts";

type Fact = { readonly item: number; readonly time: number; readonly isPositive: boolean };
const ITEMS = 50;
const salt = new Uint8Array(16).fill(3);

function interactionsOf(users: readonly (readonly Fact[])[], itemCount = ITEMS): Interactions {
  const sorted = users.map((facts) => facts.toSorted((a, b) => a.time - b.time));
  const all = sorted.flat();
  const userStart = new Uint32Array(users.length + 1);
  for (const [u, facts] of sorted.entries()) userStart[u + 1] = userStart[u]! + facts.length;
  return {
    userCount: users.length,
    itemCount,
    userStart,
    items: Int32Array.from(all, (fact) => fact.item),
    times: Uint32Array.from(all, (fact) => fact.time),
    positive: Uint8Array.from(all, (fact) => Number(fact.isPositive)),
    ratings: null,
  };
}

const namesOf = (users: readonly unknown[]) => users.map((_, u) => `user ${u}`);

type Options = Omit<PackOptions, "storePages">;

async function write(
  users: readonly (readonly Fact[])[],
  options: Options = {},
  itemCount = ITEMS,
  ownSalt: Uint8Array = salt,
) {
  const histories = historiesOf(interactionsOf(users, itemCount), packStrings(namesOf(users)), ownSalt);
  return openFiles(await packedUserRecords(histories, options), itemCount);
}

/** What an edge does with the files: one directory, one range. */
function openFiles(files: Awaited<ReturnType<typeof packedUserRecords>>, itemCount: number) {
  const directory = decodeUserDirectory(files.directory);
  const read = (hash: Hash64): UserRecord | undefined => {
    const place = directory.find(hash);
    if (place === undefined) return undefined;
    const page = files.pages[place.file]!.subarray(place.offset, place.offset + place.length);
    expect(page.length).toBe(place.length);
    return decodeUserPage(page, hash, itemCount);
  };
  return { files, directory, read };
}

const fact = fc.record({ item: fc.nat(ITEMS - 1), time: fc.nat(2 ** 32 - 1), isPositive: fc.boolean() });

test("every user finds the newest positive interactions as history, and all interactions as seen", () =>
  fc.assert(
    fc.asyncProperty(fc.array(fc.array(fact, { maxLength: 12 }), { maxLength: 12 }), async (users) => {
      const { read, directory } = await write(users, { historyMax: 5 });
      expect(directory.userCount).toBe(users.length);
      for (const [u, facts] of users.entries()) {
        const record = read(await userHash(salt, `user ${u}`))!;
        const positive = facts.toSorted((a, b) => a.time - b.time).filter((each) => each.isPositive);
        const newest = positive.slice(Math.max(0, positive.length - 5));
        expect(record.items).toEqual(newest.map((each) => each.item));
        expect(record.times).toEqual(newest.map((each) => each.time));
        const seen = new Set(facts.map((each) => each.item));
        for (let item = 0; item < ITEMS; item++)
          if (seen.has(item)) expect(record.hasSeen(item as ItemIndex)).toBe(true);
      }
      expect(read(await userHash(salt, "nobody"))).toBeUndefined();
    }),
    { numRuns: 60 },
  ));

const crowd = (count: number): Fact[][] =>
  Array.from({ length: count }, (_, u) =>
    Array.from({ length: 1 + (u % 30) }, (_, i) => ({
      item: (u * 31 + i * 7) % ITEMS,
      time: 1e9 + i * 1000,
      isPositive: i % 3 > 0,
    })),
  );

describe("three thousand users", () => {
  const users = crowd(3000);

  test("pages hold many users, files are cut where told, and each user is read with one range", async () => {
    const fileBytesMax = 40_000;
    const { files, directory, read } = await write(users, { fileBytesMax });
    expect(directory.fileCount).toBeGreaterThan(2);
    expect(directory.fileCount).toBe(files.pages.length);
    expect(directory.pageCount).toBeLessThan(3000 / 50);
    for (const file of files.pages) expect(file.length).toBeLessThanOrEqual(fileBytesMax);
    for (const [u, facts] of users.entries()) {
      const record = read(await userHash(salt, `user ${u}`))!;
      expect(record.items).toHaveLength(facts.filter((each) => each.isPositive).length);
      expect(facts.every((each) => record.hasSeen(each.item as ItemIndex))).toBe(true);
    }
  });

  test("the same salt gives the same bytes, another salt others", async () => {
    const filesWith = async (ownSalt: Uint8Array) => (await write(users.slice(0, 50), {}, ITEMS, ownSalt)).files;
    expect(await filesWith(salt)).toEqual(await filesWith(salt));
    expect(await filesWith(new Uint8Array(16).fill(4))).not.toEqual(await filesWith(salt));
  });

  test("progress rises to 1", async () => {
    const shares: number[] = [];
    await write(users, { progress: (share) => shares.push(share) });
    expect(shares[0]).toBe(0);
    expect(shares.at(-1)).toBe(1);
  });

  test("an aborted run stops with the signal's reason", async () => {
    const signal = AbortSignal.abort(new Error("stop, please"));
    await expect(write(users, { signal })).rejects.toThrow("stop, please");
  });
});

test("users whose hashes have the same high word are found in one page, wherever pages are cut", async () => {
  const users = Array.from({ length: 3000 }, (_, user) => ({
    hash: { high: Math.floor(user / 50) * 1000, low: user % 50 },
    content: { items: [user % ITEMS], times: [1e9], seen: Array.from({ length: 1 + (user % 40) }, (_, i) => i) },
  }));
  async function* batches() {
    yield users;
  }
  const files = await packedUserRecords({ userCount: 3000, itemCount: ITEMS, salt, batches });
  const { directory, read } = openFiles(files, ITEMS);
  expect(directory.pageCount).toBeGreaterThan(2);
  for (const { hash, content } of users) expect(read(hash)?.items).toEqual(content.items);
});

test("no users are no pages", async () => {
  const { files, directory } = await write([]);
  expect(files.pages).toEqual([]);
  expect(directory.find({ high: 0, low: 0 })).toBeUndefined();
});

test("a user who has seen 50,000 of a million items is read within 64 KiB", async () => {
  const items = Array.from({ length: 50_000 }, (_, i) => (i * 7919) % 1_000_000);
  const heavy = items.map((item, i) => ({ item, time: 1e9 + i, isPositive: true }));
  const { directory, read } = await write([heavy, ...crowd(200)], {}, 1_000_000);
  const hash = await userHash(salt, "user 0");
  expect(directory.find(hash)!.length).toBeLessThanOrEqual(48 * 1024);
  const record = read(hash)!;
  expect(record.items).toEqual(items.slice(-500));
  expect(items.every((item) => record.hasSeen(item as ItemIndex))).toBe(true);
  expect(record.hasSeen(1 as ItemIndex)).toBe(items.includes(1));
});

test("a user who has seen half of a million items has a page alone, larger than others", async () => {
  const heavy = Array.from({ length: 500_000 }, (_, i) => ({ item: i * 2, time: 1e9, isPositive: false }));
  const { directory, read } = await write([heavy, ...crowd(20)], {}, 1_000_000);
  const hash = await userHash(salt, "user 0");
  expect(directory.find(hash)!.length).toBeGreaterThan(64 * 1024);
  expect(read(hash)!.hasSeen(999_998 as ItemIndex)).toBe(true);
  expect(read(hash)!.hasSeen(999_999 as ItemIndex)).toBe(false);
});

test("a record beyond what can be read at once ends the run with its reason", async () => {
  const itemCount = 2 ** 30;
  const heavy = Array.from({ length: 400_000 }, (_, i) => ({ item: i * 2500, time: 1e9, isPositive: false }));
  await expect(write([heavy], {}, itemCount)).rejects.toMatchObject({ code: "user_record_too_large" });
});
