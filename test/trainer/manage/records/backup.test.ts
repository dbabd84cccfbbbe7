import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, expect, test } from "vitest";
import { backUp, backUpRegularly, restore } from "../../../../trainer/manage/records/backup.ts";
import { openDatabase } from "../../../../trainer/manage/records/database.ts";
import { modelRegistry } from "../../../../trainer/manage/records/model-registry.ts";
import { issueKey, listKeys, revokeKey } from "../../../../trainer/store/key-store.ts";
import { setStatus } from "../../../../trainer/store/live-pointer-swap.ts";
import { memoryStore } from "../../../fixtures/memory-store.ts";
import { startHarness } from "../../../fixtures/trainer-harness.ts";
import { specOf } from "../../../fixtures/trainer-spec.ts";
import { freshState, putDatabase } from "../../../fixtures/trainer-state.ts";

const HOUR_MS = 3_600_000;
let nowMs = Date.parse("2026-01-01T10:00:00Z");
const state = await freshState();
const database = await openDatabase(null, state);
afterAll(() => database.close());
const partsOf = (store = memoryStore()) => ({
  database,
  registry: modelRegistry(database, () => nowMs),
  store,
  nowMs: () => nowMs,
});
const namesOf = async ({ store }: ReturnType<typeof partsOf>) => {
  const names = [];
  for await (const { key } of store.list("backups/")) names.push(key);
  return names;
};

test("a trainer that lost its database goes on from the backup: models, schedules, interrupted runs and keys", async () => {
  const store = memoryStore();
  const request = { customer: "acme", scopes: ["rank" as const], expiresAtMs: null, nowMs, random: randomBytes };
  const revoked = await issueKey(store, request);
  const kept = await issueKey(store, request);
  const first = await startHarness({ store });
  const isActive = ({ status }: { readonly status: string }) => status === "ACTIVE";
  for (const name of ["trained", "deleted"]) await first.create(name, "publish v1", { schedule: "@daily" });
  for (const name of ["trained", "deleted"]) await first.until(name, isActive);
  await first.create("interrupted", "until /nowhere");
  await first.until("interrupted", ({ training }) => training.state === "FETCHING");
  const before = (await first.call("GET", "/v0/models/trained")).body;
  await expect.poll(() => namesOf({ ...partsOf(), store })).toHaveLength(1); // by the sweep at the start
  for (const name of await namesOf({ ...partsOf(), store })) await store.delete(name);
  await first.stop();

  const lost = await openDatabase(null, first.stateDirectory);
  await backUp(undefined, { database: lost, registry: modelRegistry(lost, Date.now), store, nowMs: Date.now });
  await lost.close();
  await rm(join(first.stateDirectory, "database"), { recursive: true });
  await putDatabase(first.stateDirectory);
  await setStatus(store, { customer: "acme", modelName: "deleted" }, { status: "DESTROYING", nowMs });
  await revokeKey(store, { keyId: revoked.record.key_id, nowMs });
  for (const prefix of ["keys/", "customers/"])
    for await (const { key } of store.list(prefix)) if (key.includes(kept.record.key_id)) await store.delete(key);

  const empty = await openDatabase(null, first.stateDirectory);
  const parts = { database: empty, registry: modelRegistry(empty, Date.now), store, nowMs: Date.now };
  expect((await restore(undefined, parts)).restored.sort()).toEqual(["acme/interrupted", "acme/trained"]);
  expect((await restore(undefined, parts)).restored).toEqual([]);
  await empty.close();
  const keys = await listKeys(store, "acme");
  expect(keys.map(({ key_id }) => key_id).sort()).toEqual([revoked.record.key_id, kept.record.key_id].sort());
  expect(keys.find(({ key_id }) => key_id === revoked.record.key_id)!.revoked_at).not.toBe(null);

  const second = await startHarness({ store, stateDirectory: first.stateDirectory });
  expect((await second.call("GET", "/v0/models/trained")).body).toEqual(before);
  await second.until("interrupted", ({ training }) => training.state === "FETCHING");
  expect((await second.call("GET", "/v0/models/deleted")).status).toBe(404);
  await second.stop();
});

test("one backup is written per period, and the newest fourteen are kept", async () => {
  const parts = partsOf();
  await backUpRegularly(0, parts);
  expect(await namesOf(parts)).toEqual([]);
  for (let hour = 0; hour < 24 * 16; hour += 5) {
    await backUpRegularly(24, parts);
    nowMs += 5 * HOUR_MS;
  }
  const names = await namesOf(parts);
  expect([names.length, names[0], names.at(-1)]).toEqual([
    14,
    "backups/20260104T000000Z.json.gz",
    "backups/20260117T000000Z.json.gz",
  ]);
});

test("a backup of a later release is read, and what is no backup is refused before anything is restored", async () => {
  const parts = partsOf();
  await parts.registry.insert(database, { customer: "acme", spec: specOf("shop", "wait"), nextRunAt: null });
  const name = await backUp(undefined, parts);
  expect((await restore(name, parts)).found).toBe(1);
  await expect(restore("backups/absent.json.gz", parts)).rejects.toThrow("There is no backup backups/absent.json.gz");
  const put = (key: string, content: string | Uint8Array) => parts.store.putIfAbsent(key, gzipSync(content), "");
  const records = { "models/acme/shop/live.json": "{}" };
  await put(
    "backups/odd.gz",
    JSON.stringify({ format: 1, created_at: "2026-01-01T00:00:00Z", models: [], key_records: records }),
  );
  await expect(restore("backups/odd.gz", parts)).rejects.toThrow("is not a backup (key_records");
  await put("backups/junk.gz", "junk");
  await expect(restore("backups/junk.gz", parts)).rejects.toThrow("is not a backup");
});
