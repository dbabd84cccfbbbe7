import { expect, test } from "vitest";
import type { LoadedVersion } from "../../../edge/versions/load-version.ts";
import { pageMemory } from "../../../edge/versions/page-memory.ts";
import { forgetPages, readAhead, readUserRecord } from "../../../edge/versions/user-pages.ts";
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
  let now = 0;
  const access = { nowMs: () => now, waitUntil: (work: Promise<unknown>) => void waited.push(work) };
  const pages = pageMemory(bytes, () => bytes);
  const pass = (ms: number) => {
    now += ms;
  };
  return { reads, waited, pass, pages, context: { reader, pages, access } };
}

test("what was read ahead needs no read when its user calls", async () => {
  const { reads, context } = contextOf();
  await readAhead(loaded, names.slice(0, 10), context);
  expect(reads.length).toBe(10);
  for (const name of names.slice(0, 10)) expect((await readUserRecord(loaded, name, context))!.items).toEqual([3]);
  expect(reads.length).toBe(10);
});
test("the most recent first are read ahead, into half of the room at most", async () => {
  const size = file.length / names.length + 512;
  const { reads, context, pages } = contextOf(file, 20 * size);
  await readAhead(loaded, names, context);
  expect([reads.length, pages.bytes()]).toEqual([10, 10 * size]);
  for (const name of names.slice(0, 10)) await readUserRecord(loaded, name, context);
  expect(reads.length).toBe(10);
});
test("reading ahead ends after a second, however slow R2 is", async () => {
  const slow = contextOf(async () => {
    slow.pass(300);
    return file;
  });
  await readAhead(loaded, names, slow.context);
  expect(slow.reads.length).toBe(4);
});
test("nor does it wait longer for a read that hangs", async () => {
  const { reader, reads } = memoryReader(new Map([[FILE, () => new Promise<Uint8Array>(() => {})]]), 60_000);
  const { pages } = contextOf();
  const begin = performance.now();
  await readAhead(loaded, names, { reader, pages, access: { nowMs: Date.now, waitUntil: () => {} } });
  expect(performance.now() - begin).toBeLessThan(5000);
  expect(reads.length).toBe(1);
});
test("reading ahead ends at a failure, of which nobody hears", async () => {
  const { reads, context, pages } = contextOf(() => Promise.reject(new Error("down")));
  await readAhead(loaded, names, context);
  expect([reads.length, pages.bytes()]).toEqual([2, 0]); // a read is tried twice
});
test("a page that was read needs no further read, and its record is what the read gave", async () => {
  const { reads, context } = contextOf();
  for (const round of [1, 2]) {
    for (const name of names) {
      const record = (await readUserRecord(loaded, name, context))!;
      expect([[...record.items], record.hasSeen(1 as never), record.hasSeen(2 as never)]).toEqual([[3], true, false]);
    }
    expect([round, reads.length]).toEqual([round, names.length]);
  }
});
test("where there is room for some pages, what was used least recently is read again, and right", async () => {
  const size = file.length / names.length + 512;
  const { reads, context, pages } = contextOf(file, 10 * size);
  for (const name of [...names, ...names.slice(-10)])
    expect([...(await readUserRecord(loaded, name, context))!.items]).toEqual([3]);
  expect([reads.length, pages.bytes()]).toEqual([names.length, 10 * size]);
  expect([...(await readUserRecord(loaded, names[0]!, context))!.items]).toEqual([3]);
  expect(reads.length).toBe(names.length + 1);
});
test("when a version is let go its pages are, and no others", async () => {
  const { reads, context, pages } = contextOf();
  for (const name of names.slice(0, 10)) await readUserRecord(loaded, name, context);
  const other = `sha256:${"b".repeat(64)}`;
  const users = { ...loaded.manifest.users!, pages: [{ media_type: "x", digest: other, size: 1 }] };
  forgetPages({ ...loaded, manifest: { ...loaded.manifest, users } }, pages);
  for (const name of names.slice(0, 10)) await readUserRecord(loaded, name, context);
  expect(reads.length).toBe(10);
  forgetPages(loaded, pages);
  expect(pages.bytes()).toBe(0);
  forgetPages(smallVersion(liveVersion("shop", "v2")), pages);
});
test("a version without users costs nothing", async () => {
  const { reads, context } = contextOf();
  const small = smallVersion(liveVersion("shop", "v2"));
  await readAhead(small, names, context);
  expect([await readUserRecord(small, names[0]!, context), reads]).toEqual([undefined, []]);
});
test("a read outlives its caller", async () => {
  const { waited, context } = contextOf();
  await readUserRecord(loaded, names[0]!, context);
  expect(waited.length).toBe(1);
});
