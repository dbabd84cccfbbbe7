import { gunzipSync } from "node:zlib";
import { beforeEach, describe, expect, test } from "vitest";
import { erasureHash } from "../../../shared/erased-users.ts";
import { MERGE } from "../../../shared/events/merges.ts";
import type { UserId } from "../../../shared/ids.ts";
import { addErasedUsers } from "../../../trainer/store/erased-list.ts";
import { cutOffOf, listAllEventFiles, listEventFiles } from "../../../trainer/store/event-files.ts";
import { readOldMerges } from "../../../trainer/store/merges.ts";
import type { ObjectStore } from "../../../trainer/store/object-store.ts";
import { tidyEventFiles } from "../../../trainer/store/tidy-event-files.ts";
import { type GivenEvent, putEvents } from "../../fixtures/event-files.ts";
import { memoryStore } from "../../fixtures/memory-store.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const START = Date.parse("2026-01-01T00:00:00Z");
const SALT = "0".repeat(32);
let nowMs: number;
let store: ObjectStore;
beforeEach(() => {
  nowMs = START;
  store = memoryStore(() => nowMs);
});

const tidy = async () =>
  tidyEventFiles(store, "acme", await listEventFiles(store, "acme"), {
    nowMs,
    retentionMs: 30 * DAY_MS,
    signal: new AbortController().signal,
  });
const event = (user: string, atMs = nowMs): GivenEvent => ({ user, item: "i", at: atMs / 1000 });

/** The ranges of the stored files. */
const ranges = async () => (await listEventFiles(store, "acme")).map(({ first, last }) => `${first}-${last}`);

/** The users of the events that a run would read, with the mark. */
async function readable() {
  const { files, marks, afterGap } = cutOffOf(await listEventFiles(store, "acme"));
  const users: string[] = [];
  for (const { key } of files)
    for (const line of gunzipSync((await store.get(key))!.bytes)
      .toString()
      .split("\n"))
      if (line !== "") users.push(JSON.parse(line).user_id);
  return { users, mark: marks["0-0"], gaps: afterGap.length };
}

/** Stores files of one event each. */
async function putSmall(count: number, first = 1): Promise<void> {
  for (let i = 0; i < count; i++) await putEvents(store, [event(`u${first + i}`)], { first: first + i });
}

describe("small files", () => {
  test("are merged after an hour; their parts are deleted another hour later", async () => {
    await putSmall(30);
    await tidy();
    expect((await ranges()).length).toBe(30);
    nowMs += HOUR_MS + 1;
    const before = await readable();
    await tidy();
    expect((await ranges()).length).toBe(31);
    expect(await readable()).toEqual(before);
    nowMs += HOUR_MS + 1;
    await putSmall(1, 31);
    await tidy();
    expect(await ranges()).toEqual(["1-30", "31-31"]);
    expect(await readable()).toEqual({ users: [...before.users, "u31"], mark: 31, gaps: 0 });
  });

  test("are left alone while they are few, or a file between them is missing", async () => {
    await putSmall(20);
    await putSmall(20, 22);
    nowMs += 2 * HOUR_MS;
    await tidy();
    expect((await ranges()).length).toBe(40);
  });

  test("a part that a shard writes once more is no second time there", async () => {
    await putSmall(24);
    nowMs += HOUR_MS + 1;
    await tidy();
    nowMs += HOUR_MS + 1;
    await tidy();
    await putSmall(1, 24);
    expect((await readable()).users.length).toBe(24);
    await tidy();
    expect(await ranges()).toEqual(["1-24"]);
  });
});

describe("merges of users", () => {
  const merge = (from: string, to: string): GivenEvent => ({ user: from, item: to, type: MERGE, at: nowMs / 1000 });

  test("outlive the files in which they came, once each, until one of the users is erased", async () => {
    await putEvents(store, [merge("a", "u"), event("a")], { first: 1 });
    await putEvents(store, [merge("a", "u"), merge("b", "u")], { first: 1, shard: "0-1" });
    await putEvents(store, [event("x")], { first: 3, shard: "0-1" });
    nowMs += 31 * DAY_MS;
    await putEvents(store, [event("u")], { first: 3 });
    await tidy();
    expect(await ranges()).toEqual(["3-3", "3-3"]);
    const kept = () => readOldMerges(store, "acme");
    expect(await kept()).toEqual([
      { from: "a", to: "u" },
      { from: "b", to: "u" },
    ]);
    const hashes = [await erasureHash(SALT, "b" as UserId)];
    await putEvents(store, [merge("b", "u"), merge("c", "u")], { first: 4 });
    await addErasedUsers(store, "acme", { salt: SALT, hashes });
    await tidy();
    expect(await kept()).toEqual([{ from: "a", to: "u" }]);
    expect((await readable()).users).toEqual(["u", "c", "x"]);
  });
});

describe("erased users", () => {
  const erase = async (...users: string[]) => {
    const hashes = await Promise.all(users.map((user) => erasureHash(SALT, user as UserId)));
    await addErasedUsers(store, "acme", { salt: SALT, hashes });
  };

  test("leave the files, whose names and other events stay", async () => {
    await putEvents(
      store,
      ["a", "b", "a"].map((user) => event(user)),
    );
    await putEvents(store, [event("a")], { first: 4 });
    const names = await ranges();
    await erase("a");
    await tidy();
    expect([await ranges(), await readable()]).toEqual([names, { users: ["b"], mark: 4, gaps: 0 }]);
  });

  test("files are read for them only when the list has changed", async () => {
    await putEvents(store, [event("a"), event("b")]);
    await putEvents(store, [event("c")], { first: 3 });
    await erase("a");
    await tidy();
    const got: string[] = [];
    const { get } = store;
    store.get = (key) => {
      if (key.endsWith(".gz")) got.push(key.slice(-38, -10));
      return get(key);
    };
    await tidy();
    expect(got.length).toBe(1); // the first file, for the age of its events
    await erase("b");
    await tidy();
    expect((await readable()).users).toEqual(["c"]);
  });

  test("a list that nobody can read changes no file", async () => {
    await putEvents(store, [event("a")]);
    await store.putIfAbsent("customers/acme/erased-users", new Uint8Array(9), "application/octet-stream");
    await expect(tidy()).rejects.toThrow("is damaged");
    expect((await readable()).users).toEqual(["a"]);
  });
});

describe("old events", () => {
  test("are deleted by the file once all of it is old; the last file stays", async () => {
    await putEvents(store, [event("old", START - 40 * DAY_MS)]);
    await putEvents(store, [event("older", START - 40 * DAY_MS), event("new")], { first: 2 });
    await putEvents(store, [event("old", START - 40 * DAY_MS)], { first: 4 });
    await tidy();
    expect(await ranges()).toEqual(["2-3", "4-4"]);
    nowMs += 31 * DAY_MS;
    await tidy();
    expect(await ranges()).toEqual(["4-4"]);
    expect(await readable()).toMatchObject({ mark: 4, gaps: 0 });
  });

  test("a damaged file is an error that names it", async () => {
    const key = await putEvents(store, [event("a")]);
    await putEvents(store, [event("b")], { first: 2 });
    const found = (await store.get(key))!;
    await store.swap(key, new Uint8Array(5), found.etag);
    await expect(tidy()).rejects.toThrow(key);
  });
});

test("the files of every customer are found, whether or not there are models", async () => {
  await putEvents(store, [event("a")]);
  await putEvents(store, [event("b")], { customer: "other-1" });
  await addErasedUsers(store, "third", { salt: SALT, hashes: [] });
  const all = await listAllEventFiles(store);
  expect([...all].map(([customer, files]) => [customer, files.length])).toEqual([
    ["acme", 1],
    ["other-1", 1],
  ]);
});
