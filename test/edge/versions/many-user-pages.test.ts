import { expect, test } from "vitest";
import type { LoadedVersion } from "../../../edge/versions/load-version.ts";
import { pageMemory } from "../../../edge/versions/page-memory.ts";
import { userRecordOf } from "../../../edge/versions/user-records.ts";
import { userHash } from "../../../shared/hash.ts";
import type { UserId } from "../../../shared/ids.ts";
import { blobKey } from "../../../shared/manifest.ts";
import {
  decodeUserDirectory,
  encodeUserDirectory,
  encodeUserPage,
  encodeUserRecord,
} from "../../../shared/user-records.ts";
import { memoryReader, type Stored } from "../../fixtures/edge-bucket.ts";
import { liveVersion, smallVersion } from "../../fixtures/edge-version.ts";

const ITEMS = 9;
const salt = new Uint8Array(16);
const digest = `sha256:${"a".repeat(64)}`;
const FILE = blobKey("acme", "shop", digest);
const names = Array.from({ length: 40 }, (_, i) => `user${i}` as UserId);

/** A version with a page for each user. */
async function versionOf(): Promise<{ loaded: LoadedVersion; file: Uint8Array }> {
  const hashes = await Promise.all(names.map((name) => userHash(salt, name)));
  const sorted = hashes.toSorted((a, b) => a.high - b.high);
  const record = encodeUserRecord({ items: [3], times: [5], seen: [1, 3] }, ITEMS);
  const firstHigh = sorted.map(({ high }, i) => (i === 0 ? 0 : high));
  const pages = sorted.map((hash, i) =>
    encodeUserPage({
      firstHigh: firstHigh[i]!,
      lastHigh: (firstHigh[i + 1] ?? 2 ** 32) - 1,
      users: [{ hash, record }],
    }),
  );
  const directory = encodeUserDirectory({
    salt,
    userCount: names.length,
    itemCount: ITEMS,
    firstHigh,
    pageBytes: pages.map((page) => page.length),
    pagesOfFile: [pages.length],
  });
  const small = smallVersion(liveVersion("shop", "v1"));
  const descriptor = { media_type: "x", digest, size: 1 };
  const manifest = { ...small.manifest, item_count: ITEMS, users: { directory: descriptor, pages: [descriptor] } };
  const loaded = { ...small, directory: decodeUserDirectory(directory), manifest };
  return { loaded, file: new Uint8Array(await new Blob(pages as never).arrayBuffer()) };
}
const { loaded, file } = await versionOf();

function contextOf(stored: Stored = file, bytes = 1e6) {
  const { reader, reads } = memoryReader(new Map([[FILE, stored]]));
  const waited: Promise<unknown>[] = [];
  const access = { nowMs: () => 0, waitUntil: (work: Promise<unknown>) => void waited.push(work) };
  const pages = pageMemory(bytes, () => bytes);
  return {
    reads,
    waited,
    pages,
    context: { ...access, reader, pages, isErased: async () => false, beforeRead: () => {} },
  };
}

test("a page in memory needs no further read, and returns the same records", async () => {
  const { reads, context } = contextOf();
  for (const round of [1, 2]) {
    for (const name of names) {
      const record = (await userRecordOf(loaded, name, context))!;
      expect([[...record.items], record.hasSeen(1 as never), record.hasSeen(2 as never)]).toEqual([[3], true, false]);
    }
    expect([round, reads.length]).toEqual([round, names.length]);
  }
});
test("with memory for some pages, the least recently used ones are read again correctly", async () => {
  const size = file.length / names.length + 512;
  const { reads, context, pages } = contextOf(file, 10 * size);
  for (const name of [...names, ...names.slice(-10)])
    expect([...(await userRecordOf(loaded, name, context))!.items]).toEqual([3]);
  expect([reads.length, pages.usedBytes()]).toEqual([names.length, 10 * size]);
  expect([...(await userRecordOf(loaded, names[0]!, context))!.items]).toEqual([3]);
  expect(reads.length).toBe(names.length + 1);
});
test("a read goes on if its caller disconnects", async () => {
  const { waited, context } = contextOf();
  await userRecordOf(loaded, names[0]!, context);
  expect(waited.length).toBe(1);
});
