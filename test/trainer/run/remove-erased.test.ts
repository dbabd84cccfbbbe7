import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { erasureHash } from "../../../shared/erased-users.ts";
import { userHash } from "../../../shared/hash.ts";
import type { UserId } from "../../../shared/ids.ts";
import { blobKey, listsKey, manifestKey, replayKey, reportKey } from "../../../shared/manifest.ts";
import { stringAt } from "../../../shared/packed-strings.ts";
import { decodeUserDirectory } from "../../../shared/user-records.ts";
import { decodeDetail, hashOfUser } from "../../../trainer/choose/report/evaluation-detail.ts";
import { addErasedUsers } from "../../../trainer/store/erased-list.ts";
import { readLivePointer, setStatus } from "../../../trainer/store/live-pointer-swap.ts";
import type { ObjectStore } from "../../../trainer/store/object-store.ts";
import { readManifest } from "../../../trainer/store/versions.ts";
import { memoryStore } from "../../fixtures/memory-store.ts";
import { interactionsCsv, trainOnFiles, USER_SALT } from "../../fixtures/train-on-files.ts";
import { twoTastes } from "../../fixtures/two-tastes.ts";
import { decodeUserPage } from "../../fixtures/user-page.ts";

const MODEL = { customer: "acme", modelName: "shop" };
const DAY_MS = 86_400_000;
const START = Date.parse("2024-03-01T00:00:00Z");
const ERASED = "u7" as UserId;
const DATA = twoTastes({ users: 60, items: 20, perUser: 8 });
let folder: string;
let nowMs = START;
let store: ObjectStore;
let first: string;

/** Trains on the rows. A query that gives none makes the run fail. */
const train = (more: { query?: string; dueMs?: number; onErasedRemoved?: () => void } = {}) =>
  trainOnFiles({
    model: MODEL,
    folder,
    ...interactionsCsv(more.query),
    store,
    nowMs,
    settings: { fitSecondsMax: 2 },
    ...(more.dueMs !== undefined && { dueMs: more.dueMs }),
    ...(more.onErasedRemoved && { onErasedRemoved: more.onErasedRemoved }),
  });
const liveVersion = async () => (await readLivePointer(store, MODEL))!.pointer.live!.version;
const keys = async () => (await Array.fromAsync(store.list("models/acme/shop/"))).map(({ key }) => key);

/** The items of a user's record in a version, or undefined. */
async function recordOf(version: string, user: string) {
  const manifest = (await readManifest(store, MODEL, version))!;
  const bytesOf = async (digest: string) => (await store.get(blobKey("acme", "shop", digest)))!.bytes;
  const directory = decodeUserDirectory(await bytesOf(manifest.users!.directory.digest));
  const hash = await userHash(directory.salt, user);
  const { file, offset, length } = directory.find(hash)!;
  const pages = await bytesOf(manifest.users!.pages[file]!.digest);
  return decodeUserPage(pages.slice(offset, offset + length), hash, manifest.item_count)?.items;
}

/** The objects of the model that contain the user's hash with the customer's salt, or with that of evaluation lists. */
async function objectsWith(user: UserId): Promise<string[]> {
  const hash = await userHash(new TextEncoder().encode(USER_SALT), user);
  const words = new Uint8Array(Uint32Array.of(hash.high, hash.low).buffer);
  const found: string[] = [];
  for (const key of await keys()) {
    const bytes = Buffer.from((await store.get(key))!.bytes);
    const lists = key.includes("/lists/") ? decodeDetail(bytes) : undefined;
    if (bytes.includes(words) || lists?.users.includes(hashOfUser(lists.salt, user))) found.push(key);
  }
  return found;
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "remove-erased-"));
  const rows = ["user_id,item_id,at,label"];
  for (let user = 0; user < DATA.userCount; user++)
    for (let row = DATA.userStart[user]!; row < DATA.userStart[user + 1]!; row++)
      rows.push(`u${user},${stringAt(DATA.itemIds, DATA.items[row]!)},${DATA.times[row]},1`);
  await writeFile(join(folder, "interactions.csv"), rows.join("\n"));
  store = memoryStore(() => nowMs);
  await setStatus(store, MODEL, { status: "SCHEDULING", nowMs });
  await train();
  first = await liveVersion();
  const hashes = [await erasureHash(USER_SALT, ERASED)];
  await addErasedUsers(store, "acme", { salt: USER_SALT, hashes });
}, 120_000);
afterAll(() => rm(folder, { recursive: true }));

test("a version before an erasure has the user in records and lists", async () => {
  expect(await recordOf(first, ERASED)).toBeDefined();
  expect((await objectsWith(ERASED)).map((key) => key.split("/")[3]).sort()).toEqual(["blobs", "lists"]);
});

test("while nothing is due, versions stay, also by a failed run", async () => {
  nowMs = START + DAY_MS;
  await expect(train({ query: "SELECT * FROM interactions LIMIT 0" })).rejects.toThrow();
  expect(await liveVersion()).toBe(first);
});

test("a run that fails has removed the user before: the live version is a copy without the record", async () => {
  nowMs = START + 16 * DAY_MS;
  const others = await Promise.all(["u3", "u59"].map((user) => recordOf(first, user)));
  let removed = 0;
  const failing = train({
    query: "SELECT * FROM interactions LIMIT 0",
    dueMs: START + DAY_MS,
    onErasedRemoved: () => removed++,
  });
  await expect(failing).rejects.toThrow();
  expect(removed).toBe(1);
  const copy = await liveVersion();
  expect(copy).not.toBe(first);
  expect(await objectsWith(ERASED)).toEqual([]);
  expect(await recordOf(copy, ERASED)).toBeUndefined();
  expect(await Promise.all(["u3", "u59"].map((user) => recordOf(copy, user)))).toEqual(others);
  const left = await keys();
  for (const keyOf of [manifestKey, listsKey, replayKey, reportKey])
    expect(left).not.toContain(keyOf("acme", "shop", first));
  expect(left).toContain(reportKey("acme", "shop", copy));
});

test("a copy is not copied again, and what is younger than the time stays", async () => {
  const copy = await liveVersion();
  const failing = train({ query: "SELECT * FROM interactions LIMIT 0", dueMs: START + DAY_MS });
  await expect(failing).rejects.toThrow();
  expect(await liveVersion()).toBe(copy);
  nowMs += DAY_MS;
  await train({ dueMs: START + DAY_MS });
  expect(await keys()).toContain(manifestKey("acme", "shop", copy));
  expect(await objectsWith(ERASED)).toEqual([]);
});

test("a removal that fails is reported, and the run goes on", async () => {
  const errors: unknown[] = [];
  const live = (await readManifest(store, MODEL, await liveVersion()))!;
  nowMs += DAY_MS;
  await store.delete(blobKey("acme", "shop", live.users!.directory.digest));
  const { outcome } = await trainOnFiles({
    model: MODEL,
    folder,
    ...interactionsCsv(),
    store,
    nowMs,
    settings: { fitSecondsMax: 2 },
    dueMs: nowMs,
    onCleanupError: (error) => void errors.push(error),
    onErasedRemoved: () => expect.unreachable(),
  });
  expect(outcome.kind).toBe("published");
  expect(String(errors[0])).toContain("the live version has its file");
});
