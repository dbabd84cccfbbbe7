import { expect, test } from "vitest";
import { isUnreadable, ReadError } from "../../../edge/reading/artifact-reader.ts";
import type { LoadedVersion } from "../../../edge/versions/load-version.ts";
import { type PageMemory, pageMemory } from "../../../edge/versions/page-memory.ts";
import { userRecordOf } from "../../../edge/versions/user-records.ts";
import { userHash } from "../../../shared/hash.ts";
import type { ItemIndex, UserId } from "../../../shared/ids.ts";
import { blobKey } from "../../../shared/manifest.ts";
import { decodeUserDirectory } from "../../../shared/user-records.ts";
import { historiesOf } from "../../../trainer/read/spool/user-histories.ts";
import { memoryReader, type Stored } from "../../fixtures/edge-bucket.ts";
import { shopDataset } from "../../fixtures/edge-shop.ts";
import { liveVersion, smallVersion } from "../../fixtures/edge-version.ts";
import { packedUserRecords } from "../../fixtures/packed-user-records.ts";

const target = liveVersion("shop", "v1");
const digest = `sha256:${"a".repeat(64)}`;
const PAGES = blobKey("acme", "shop", digest);
const dataset = shopDataset();
const files = await packedUserRecords(historiesOf(dataset, dataset.userIds, new Uint8Array(16)), { historyMax: 10 });
const pages = files.pages[0]!;
const directory = decodeUserDirectory(files.directory);
const small = smallVersion(target);
const descriptor = { media_type: "x", digest, size: pages.length };
const loaded: LoadedVersion = {
  ...small,
  directory,
  manifest: { ...small.manifest, item_count: 8, users: { directory: descriptor, pages: [descriptor] } },
};

const nobody = async () => false;
const emptyMemory = () => pageMemory(1_000_000, () => 1_000_000);
const access = { nowMs: () => Date.now(), waitUntil: () => {} };
type Circumstances = {
  isErased?: () => Promise<boolean>;
  pages?: PageMemory;
  beforeRead?: () => void;
  version?: LoadedVersion;
};
function recordOf(user: string, stored: Stored | undefined, circumstances: Circumstances = {}) {
  const { isErased = nobody, pages = emptyMemory(), beforeRead = () => {}, version = loaded } = circumstances;
  const { reader, reads } = memoryReader(new Map(stored === undefined ? [] : [[PAGES, stored]]));
  const record = userRecordOf(version, user as UserId, { ...access, reader, pages, isErased, beforeRead });
  return { record, reads };
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
  const { record, reads } = recordOf("bob", pages, { isErased });
  await expect(record).rejects.toThrow(ReadError);
  expect(reads).toEqual([]);
});
test("a version without users reads nothing", async () => {
  const { record, reads } = recordOf("ann", undefined, { version: small });
  expect([await record, reads]).toEqual([undefined, []]);
});
test("what must hold before a page is read is checked then, and only then", async () => {
  const memory = emptyMemory();
  const beforeRead = () => {
    throw new RangeError("no");
  };
  const refused = recordOf("bob", pages, { pages: memory, beforeRead });
  await expect(refused.record).rejects.toThrow(RangeError);
  expect(refused.reads).toEqual([]);
  await recordOf("bob", pages, { pages: memory }).record;
  expect([...(await recordOf("bob", pages, { pages: memory, beforeRead }).record)!.items]).toEqual([5]);
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
  expect(isUnreadable(await recordOf("bob", stored).record.catch((error: unknown) => error))).toBe(true);
});
test.each(failing)("a page that %s is not kept, so the next call reads it again", async (_, stored) => {
  const memory = emptyMemory();
  await expect(recordOf("bob", stored, { pages: memory }).record).rejects.toThrow();
  expect(memory.usedBytes()).toBe(0);
  expect([...(await recordOf("bob", pages, { pages: memory }).record)!.items]).toEqual([5]);
});
