import { afterEach, expect, test, vi } from "vitest";
import { settingsOf } from "../../../edge/env.ts";
import { ReadError } from "../../../edge/reading/artifact-reader.ts";
import { erasedLists } from "../../../edge/versions/erased-lists.ts";
import type { LoadedVersion } from "../../../edge/versions/load-version.ts";
import { type PageMemory, pageMemory } from "../../../edge/versions/page-memory.ts";
import { snapshotOf } from "../../../edge/versions/snapshot-of-version.ts";
import { versionKey, versionMemory } from "../../../edge/versions/version-memory.ts";
import { erasedUsersKey } from "../../../shared/erased-users.ts";
import { userHash } from "../../../shared/hash.ts";
import type { ItemIndex, UserId } from "../../../shared/ids.ts";
import { blobKey } from "../../../shared/manifest.ts";
import { decodeUserDirectory } from "../../../shared/user-records.ts";
import { writeUserRecords } from "../../../trainer/publish/write-user-records.ts";
import { memoryReader, type Stored } from "../../fixtures/edge-bucket.ts";
import { shopDataset } from "../../fixtures/edge-shop.ts";
import { liveVersion, smallVersion } from "../../fixtures/edge-version.ts";

const target = liveVersion("shop", "v1");
const digest = `sha256:${"a".repeat(64)}`;
const PAGES = blobKey("acme", "shop", digest);
const dataset = shopDataset();
const files = await Array.fromAsync(
  writeUserRecords(dataset, dataset.userIds, { salt: new Uint8Array(16), historyMax: 10 }),
);
const pages = files.find(({ kind }) => kind === "pages")!.bytes;
const directory = decodeUserDirectory(files.find(({ kind }) => kind === "directory")!.bytes);
const small = smallVersion(target);
const descriptor = { media_type: "x", digest, size: pages.length };
const loaded: LoadedVersion = {
  ...small,
  directory,
  manifest: { ...small.manifest, item_count: 8, users: { directory: descriptor, pages: [descriptor] } },
};

afterEach(() => vi.useRealTimers());

const nobody = async () => false;
const emptyMemory = () => pageMemory(1_000_000, () => 1_000_000);
const access = { nowMs: () => Date.now(), waitUntil: () => {} };
type Circumstances = { serveUnfiltered?: boolean; isErased?: () => Promise<boolean>; pages?: PageMemory };
function recordOf(user: string, stored: Stored | undefined, circumstances: Circumstances = {}) {
  const { serveUnfiltered = false, isErased = nobody, pages = emptyMemory() } = circumstances;
  const { reader, reads } = memoryReader(new Map(stored === undefined ? [] : [[PAGES, stored]]));
  const failures: unknown[] = [];
  const onUnfiltered = (error: unknown) => failures.push(error);
  const snapshot = snapshotOf(loaded, { reader, pages, access, isErased, serveUnfiltered, onUnfiltered });
  return { record: snapshot.userRecord(user as UserId), reads, failures };
}

test("a known user's record takes one read", async () => {
  const { record, reads } = recordOf("bob", pages);
  const bob = (await record)!;
  expect([...bob.items]).toEqual([5]);
  expect([3, 4, 5].map((item) => bob.hasSeen(item as ItemIndex))).toEqual([false, true, true]);
  expect(reads).toEqual([PAGES]);
});
test("a user who was not in the training data has no record", async () =>
  expect(await recordOf("carol", pages).record).toBeUndefined());
test("an erased user has no record, and nothing is read", async () => {
  const { record, reads } = recordOf("bob", pages, { isErased: async () => true });
  expect([await record, reads]).toEqual([undefined, []]);
});
test("a second call, and a user on the same page, need no read", async () => {
  const memory = emptyMemory();
  const first = (await recordOf("bob", pages, { pages: memory }).record)!;
  for (const user of ["bob", "ann", "carol"]) {
    const again = recordOf(user, undefined, { pages: memory });
    const [kept, read] = [await again.record, await recordOf(user, pages).record];
    expect(again.reads).toEqual([]);
    expect(kept && [...kept.items]).toEqual(read && [...read.items]);
  }
  expect([...first.items]).toEqual([5]);
});
test("of concurrent calls for one page, one reads it", async () => {
  const memory = emptyMemory();
  const { promise, resolve } = Promise.withResolvers<Uint8Array>();
  const slow = () => promise;
  const asked = Array.from({ length: 20 }, (_, i) => recordOf(i % 2 ? "bob" : "ann", slow, { pages: memory }));
  setTimeout(() => resolve(pages), 30);
  const records = await Promise.all(asked.map(({ record }) => record));
  expect(asked.flatMap(({ reads }) => reads)).toEqual([PAGES]);
  expect(records.map((record) => record!.items.length)).toEqual(
    asked.map((_, i) => (i % 2 ? 1 : records[0]!.items.length)),
  );
});
test("if that read fails, the other calls read for themselves", async () => {
  const memory = emptyMemory();
  let reads = 0;
  const failsFirst = async () => {
    await new Promise((done) => setTimeout(done, 5));
    return ++reads <= 2 ? Promise.reject(new Error("down")) : pages; // a read is retried once
  };
  const answers = await Promise.allSettled(
    Array.from({ length: 5 }, () => recordOf("bob", failsFirst, { pages: memory }).record),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([...Array(4).fill("fulfilled"), "rejected"]);
  expect(reads).toBe(3);
});
test("no call waits long for a hanging read, or for one whose page is not kept", async () => {
  const hanging = () => new Promise<Uint8Array>(() => {});
  const clock = performance.now();
  for (const memory of [emptyMemory(), pageMemory(0, () => 0)]) {
    const asked = Array.from({ length: 30 }, () => recordOf("bob", hanging, { pages: memory }));
    const answers = await Promise.allSettled(asked.map(({ record }) => record));
    expect(answers.map(({ status }) => status)).toEqual(Array(30).fill("rejected"));
  }
  expect(performance.now() - clock).toBeLessThan(6000); // twice the reader's 50 ms, and a wait
});
test("an erased user has no record, even if the page is in memory", async () => {
  const memory = emptyMemory();
  await recordOf("bob", pages, { pages: memory }).record;
  const { record } = recordOf("bob", undefined, { pages: memory, isErased: async () => true });
  expect(await record).toBeUndefined();
});
test("a user who is erased while the record is read has no record", async () => {
  let isErased = false;
  const slow = async () => {
    await new Promise((done) => setTimeout(done, 20));
    isErased = true;
    return pages;
  };
  const { record, reads } = recordOf("bob", slow, { isErased: async () => isErased });
  expect([await record, reads]).toEqual([undefined, [PAGES]]);
});
test("nothing is ranked if it is unknown whether the user is erased", async () => {
  const isErased = () => Promise.reject(new ReadError("down"));
  await expect(recordOf("bob", pages, { isErased }).record).rejects.toMatchObject({ code: "user_record_unavailable" });
  const { record, reads, failures } = recordOf("bob", pages, { isErased, serveUnfiltered: true });
  expect([await record, reads, failures.length]).toEqual([undefined, [], 1]);
});
test("with the longest read deadline, the slowest call still has its lease of the version when it scores", async () => {
  const isAllowed = (ms: number) => {
    try {
      return settingsOf({ MODELS: {} as R2Bucket, READ_TIMEOUT_MS: ms }).READ_TIMEOUT_MS === ms;
    } catch {
      return false;
    }
  };
  const readMs = [20_000, 10_000, 8000, 7000, 6000, 5000].find(isAllowed)!;
  vi.useFakeTimers({ now: 0, toFake: ["setTimeout", "clearTimeout", "Date"] });
  const slow = (bytes: Uint8Array | null): Stored => {
    let attempts = 0; // the first attempt hangs, the second just ends in time
    return () => new Promise((resolve) => attempts++ % 2 && setTimeout(() => resolve(bytes), readMs - 1));
  };
  const stored = new Map([
    [PAGES, slow(pages)],
    [erasedUsersKey("acme"), slow(null)],
  ]);
  const { reader } = memoryReader(stored, readMs);
  const memory = versionMemory(100_000_000, () => 0);
  const cost = { heapBytes: 1000, scriptBytes: 0, loadingBytes: 0 };
  memory.add(loaded, cost, access, Date.now());
  memory.lease(target, access);
  const isErased = (user: UserId) => erasedLists(4000).isErased("acme", user, { ...access, reader });
  const locked: PageMemory = { ...emptyMemory(), tryLock: () => false }; // by a call that was cancelled
  const policy = { reader, pages: locked, access, isErased, serveUnfiltered: false, onUnfiltered: () => {} };
  let items: readonly number[] | undefined;
  const reading = snapshotOf(loaded, policy).userRecord("bob" as UserId);
  void reading.then((record) => (items = [...record!.items]));
  while (!items) {
    await new Promise(setImmediate); // the fake clock must not advance while a hash is computed
    if (vi.getTimerCount() > 0) await vi.advanceTimersToNextTimerAsync();
  }
  expect(Date.now()).toBeGreaterThan(4 * readMs);
  memory.add(smallVersion(liveVersion("shop", "v2")), cost, access, Date.now());
  expect(memory.versions()).toContain(versionKey(target));
});
test("a version without users reads nothing", async () => {
  const { reader, reads } = memoryReader(new Map());
  const snapshot = snapshotOf(small, {
    reader,
    pages: emptyMemory(),
    access,
    isErased: async () => false,
    serveUnfiltered: false,
    onUnfiltered: () => {},
  });
  expect(await snapshot.userRecord("ann" as UserId)).toBeUndefined();
  expect(reads).toEqual([]);
});

const flipped = pages.slice();
const place = directory.find(await userHash(directory.salt, "bob"))!;
flipped[place.offset + place.length - 9]! ^= 1;
const failing: [string, Stored | undefined][] = [
  ["cannot be read", () => Promise.reject(new Error("down"))],
  ["is absent", undefined],
  ["is cut short", pages.slice(0, place.offset + 8)],
  ["has a bit flipped", flipped],
];
test.each(failing)("a page that %s is an error, never a record without seen items", async (_, stored) => {
  const { record, failures } = recordOf("bob", stored);
  await expect(record).rejects.toMatchObject({ code: "user_record_unavailable", retryAfterSeconds: 1 });
  expect(failures).toEqual([]);
});
test.each(failing)("a page that %s is not kept, so the next call reads it again", async (_, stored) => {
  const memory = emptyMemory();
  await expect(recordOf("bob", stored, { pages: memory }).record).rejects.toMatchObject({
    code: "user_record_unavailable",
  });
  expect(memory.usedBytes()).toBe(0);
  expect([...(await recordOf("bob", pages, { pages: memory }).record)!.items]).toEqual([5]);
});
test.each(failing)("a page that %s is reported and ignored if the operator has chosen that", async (_, stored) => {
  const { record, failures } = recordOf("bob", stored, { serveUnfiltered: true });
  expect(await record).toBeUndefined();
  expect(failures.length).toBe(1);
});

test("all other members come from the version", async () => {
  const { reader } = memoryReader(new Map());
  const snapshot = snapshotOf(small, {
    reader,
    pages: emptyMemory(),
    access,
    isErased: async () => false,
    serveUnfiltered: false,
    onUnfiltered: () => {},
  });
  expect(snapshot).toMatchObject({ version: "v1", itemCount: 2, itemIdType: "string", historyMax: 10 });
  expect(snapshot.idAt(1 as ItemIndex)).toBe("b");
  expect([...(await snapshot.score({ items: [], agesDays: [] }))]).toEqual([1, 2]);
  const isB = snapshot.compileFilter({ kind: "in", values: ["b"], attribute: "item_id", pointer: "", path: "" });
  expect([0, 1].map((item) => isB(item as ItemIndex))).toEqual([false, true]);
});
