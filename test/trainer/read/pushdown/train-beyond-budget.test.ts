import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, expect, test } from "vitest";
import { decodeCatalog } from "../../../../shared/catalog.ts";
import { userHash } from "../../../../shared/hash.ts";
import type { ItemId, ItemIndex, UserId } from "../../../../shared/ids.ts";
import { blobKey, Manifest, manifestKey } from "../../../../shared/manifest.ts";
import { rank } from "../../../../shared/rank.ts";
import type { Snapshot } from "../../../../shared/snapshot.ts";
import { decodeUserDirectory } from "../../../../shared/user-records.ts";
import { setStatus } from "../../../../trainer/store/live-pointer-swap.ts";
import type { ObjectStore } from "../../../../trainer/store/object-store.ts";
import { memoryStore } from "../../../fixtures/memory-store.ts";
import { trainOnFiles } from "../../../fixtures/train-on-files.ts";
import { decodeUserPage } from "../../../fixtures/user-page.ts";

const model = { customer: "acme", modelName: "shop" };
const NOW = Date.parse("2024-03-01T00:00:00Z");
const USERS = 2500;
const ITEMS = 60;
let folder: string;
let facts: { readonly user: string; readonly item: string }[];

/** 25,000 rows, a tenth of them twice, of which a run of 0.2 MB holds 7,692. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "beyond-budget-"));
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  await connection.run(`CREATE TABLE events AS SELECT 'u' || (hash(i) % ${USERS}) AS user_id, 'i' || (hash(i + 1e6) % ${ITEMS}) AS item_id,
    1700000000 + i AS at, CASE WHEN i % 5 = 0 THEN 0 ELSE 1 END AS label FROM range(25000) t(i)`);
  await connection.run("INSERT INTO events SELECT * FROM events WHERE (events.at) % 10 = 0");
  await connection.run("INSERT INTO events VALUES (NULL, 'i1', 1700000000, 1), ('u1', 'i1', 1700000000, 7)");
  await connection.run(`COPY events TO '${join(folder, "events.parquet")}'`);
  const reader = await connection.runAndReadAll(
    "SELECT DISTINCT user_id, item_id FROM events WHERE user_id IS NOT NULL AND label < 2",
  );
  facts = reader.getRows().map(([user, item]) => ({ user: String(user), item: String(item) }));
  instance.closeSync();
});
afterAll(() => rm(folder, { recursive: true }));

async function train(memoryMbMax: number) {
  const store = memoryStore();
  await setStatus(store, model, { status: "SCHEDULING", nowMs: NOW });
  const { outcome, data } = await trainOnFiles({
    model,
    folder,
    location: "*.parquet",
    schema: {
      user: { id: "user_id" },
      item: { id: "item_id" },
      interaction: { created_at: "at", label: { type: "Binary", name: "label" }, source: { query: "FROM events;" } },
    },
    store,
    nowMs: NOW,
    settings: { memoryMbMax },
  });
  if (outcome.kind !== "published") throw new Error(outcome.kind);
  return { snapshot: await snapshotOf(store, outcome.version), data: data! };
}

/** A snapshot like the edge's, in which every item has the same score. */
async function snapshotOf(store: ObjectStore, version: string): Promise<Snapshot & { readonly userCount: number }> {
  const bytesOf = async (key: string) => (await store.get(key))!.bytes;
  const manifestBytes = await bytesOf(manifestKey(model.customer, model.modelName, version));
  const manifest = Manifest.parse(JSON.parse(new TextDecoder().decode(manifestBytes)));
  const blob = (digest: string) => bytesOf(blobKey(model.customer, model.modelName, digest));
  const catalog = decodeCatalog(await blob(manifest.catalog.digest));
  const directory = decodeUserDirectory(await blob(manifest.users!.directory.digest));
  const pages = await Promise.all(manifest.users!.pages.map(({ digest }) => blob(digest)));
  return {
    version,
    itemCount: manifest.item_count,
    itemIdType: manifest.item_id_type,
    historyMax: manifest.model.history_max,
    userCount: manifest.user_count,
    indexOf: (id: ItemId) => catalog.indexOf(id),
    idAt: (item: ItemIndex) => catalog.idAt(item),
    async userRecord(user: UserId) {
      const hash = await userHash(directory.salt, user);
      const { file, offset, length } = directory.find(hash)!;
      return decodeUserPage(pages[file]!.subarray(offset, offset + length), hash, manifest.item_count);
    },
    score: async () => new Float32Array(manifest.item_count),
    compileFilter: () => () => true,
  };
}

test("a table beyond the run's memory becomes a version that shows no seen item", {
  timeout: 60_000,
}, async () => {
  const { snapshot, data } = await train(0.3);
  const users = Map.groupBy(facts, ({ user }) => user);
  expect(snapshot).toMatchObject({ userCount: users.size, itemCount: ITEMS });
  for (const [user, own] of users) {
    const request = { limit: ITEMS, session: [], filter: undefined, excludeSeen: true, nowSeconds: NOW / 1000 };
    const answer = await rank({ ...request, userId: user as UserId }, snapshot);
    const shown = new Set(answer.items.map((item) => String(snapshot.idAt(item))));
    expect(own.filter(({ item }) => shown.has(item))).toEqual([]);
    // In so small a catalog the seen items are exact, so every other item is listed.
    expect(answer.items.length).toBe(ITEMS - own.length);
  }
  const { interactions, rejected_rows: rejected, duplicate_rows: duplicates } = data;
  expect({ users: data.users, items: data.items, interactions, rejected, duplicates }).toEqual({
    users: users.size,
    items: ITEMS,
    interactions: 25_000,
    rejected: { missing_user: 1, unparsable_label: 1 },
    duplicates: 2500,
  });
  const [warning] = data.warnings;
  expect(warning).toMatch(
    /^25000 interactions are more than the 4615 that this run's memory holds beside its fits: DuckDB prepared them/,
  );
  const [, fitted, sampled] = /newest (\d+) interactions of (\d+) of \d+ users/.exec(warning!)!.map(Number);
  expect(fitted).toBeGreaterThan(2500);
  expect(fitted).toBeLessThanOrEqual(4615);
  expect(sampled).toBeLessThan(users.size / 2);
});

test("a table that fits into memory is not prepared by its store", { timeout: 60_000 }, async () => {
  const { snapshot, data } = await train(64);
  expect(data.warnings.join()).not.toContain("prepared them");
  expect(snapshot.userCount).toBe(data.users);
});
