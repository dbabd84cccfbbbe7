import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { blobKey, livePointerKey, prefixOf } from "../../../../shared/manifest.ts";
import type { LogEntry } from "../../../../trainer/log/log.ts";
import { removeModel, startRemovals } from "../../../../trainer/manage/models/remove-model.ts";
import { type Database, openDatabase } from "../../../../trainer/manage/records/database.ts";
import { type ModelRegistry, modelRegistry } from "../../../../trainer/manage/records/model-registry.ts";
import { runLedger } from "../../../../trainer/manage/records/run-ledger.ts";
import { modelFolders } from "../../../../trainer/manage/runs/model-folders.ts";
import { readLivePointer, setStatus } from "../../../../trainer/store/live-pointer-swap.ts";
import type { ObjectStore } from "../../../../trainer/store/object-store.ts";
import { descriptorsOf } from "../../../../trainer/store/version-files.ts";
import { readManifest, storedVersions } from "../../../../trainer/store/versions.ts";
import { faultyStore } from "../../../fixtures/faulty-store.ts";
import { memoryStore } from "../../../fixtures/memory-store.ts";
import { INCREMENTAL_EVENTS, trainOnFiles } from "../../../fixtures/train-on-files.ts";
import { specOf } from "../../../fixtures/trainer-spec.ts";
import { freshFolder, freshState } from "../../../fixtures/trainer-state.ts";

const MODEL = { customer: "acme", modelName: "shop" };
let database: Database;
beforeAll(async () => {
  database = await openDatabase(null, await freshState());
});
afterAll(() => database.close());

async function aDyingModel() {
  const registry = modelRegistry(database, Date.now);
  const ledger = runLedger(database, "ours", 30);
  const store = memoryStore();
  await setStatus(store, MODEL, { status: "ERROR", nowMs: 0 });
  for (const name of ["a", "b"])
    await store.putIfAbsent(`${prefixOf("acme", "shop")}blobs/${name}`, new Uint8Array(1), "text/plain");
  const folders = modelFolders(await freshFolder());
  await folders.makeModel("acme", "shop");
  await registry.insert(database, { customer: "acme", spec: specOf("shop", "wait"), nextRunAt: null });
  await registry.apply("acme", "shop", { kind: "destroying" });
  const signal = new AbortController().signal;
  const waits: string[] = [];
  const pointers = { whenReconciled: async () => void waits.push(...(await left())) };
  const remove = (through: ObjectStore, by: ModelRegistry = registry) =>
    removeModel(MODEL, { registry: by, ledger, pointers, folders, nowMs: Date.now, signal, store: through });
  const left = async () => {
    const keys = [];
    for await (const { key } of store.list("")) keys.push(key);
    return keys;
  };
  return { registry, ledger, store, folders, remove, left, waits };
}

test("after a crash at any point the same call finishes the removal, and the row goes last", async () => {
  const whole = await aDyingModel();
  const counted = faultyStore(whole.store, null);
  expect(await whole.remove(counted.store)).toBe(true);
  expect(counted.calls.length).toBeGreaterThan(5);
  for (let call = 1; call <= counted.calls.length; call++)
    for (const when of ["before", "after"] as const) {
      const { registry, store, remove, left } = await aDyingModel();
      await expect(remove(faultyStore(store, { call, when }).store)).rejects.toThrow("planted fault");
      expect(await registry.find("acme", "shop")).toMatchObject({ status: "DESTROYING" });
      expect(await remove(store)).toBe(true);
      expect([await left(), await registry.find("acme", "shop")]).toEqual([[], undefined]);
      expect(await remove(store)).toBe(true);
    }
});

test("the removal waits for a status update that is still on its way", async () => {
  const { store, remove, waits } = await aDyingModel();
  await remove(store);
  expect(waits).toHaveLength(3);
});

test("while a trainer works on a run of the model, nothing is removed", async () => {
  const { ledger, registry, store, remove, left } = await aDyingModel();
  await ledger.create(database, { runId: "run-held", ...MODEL });
  const claim = (await ledger.claim("run-held"))!;
  expect(await remove(store)).toBe(false);
  expect(await left()).toHaveLength(3);
  await ledger.finish(claim);
  expect(await remove(store)).toBe(true);
  expect(await registry.find("acme", "shop")).toBe(undefined);
});

test("models are removed one after the other; one that fails or is still in use keeps no other waiting", async () => {
  const { registry, ledger, store, folders } = await aDyingModel();
  for (const modelName of ["in-use", "last"]) {
    await registry.insert(database, { customer: "acme", spec: specOf(modelName, "wait"), nextRunAt: null });
    await registry.apply("acme", modelName, { kind: "destroying" });
  }
  await ledger.create(database, { runId: "run-in-use", customer: "acme", modelName: "in-use" });
  await ledger.claim("run-in-use");
  const logs: LogEntry[] = [];
  let isDown = true;
  const removals = startRemovals({
    registry,
    ledger,
    folders,
    store: {
      ...store,
      get: (key) => (isDown && key.includes("shop") ? Promise.reject(new Error("down")) : store.get(key)),
    },
    pointers: { whenReconciled: async () => {} },
    nowMs: Date.now,
    signal: new AbortController().signal,
    log: (entry) => void logs.push(entry),
  });
  const names = async () => (await registry.destroying(10)).map(({ modelName }) => modelName).sort();
  await expect.poll(names).toEqual(["in-use", "shop"]);
  expect(logs).toContainEqual(expect.objectContaining({ event: "removal_failed", model_name: "shop" }));
  isDown = false;
  removals.wake();
  await expect.poll(names).toEqual(["in-use"]);
  await ledger.cancel("run-in-use");
  await ledger.releaseAll();
  removals.wake();
  await expect.poll(names).toEqual([]);
  await removals.stop();
});

test("a model that is not being deleted is not removed", async () => {
  const { registry, store, remove } = await aDyingModel();
  await remove(store);
  await registry.insert(database, { customer: "acme", spec: specOf("shop", "wait"), nextRunAt: null });
  await setStatus(store, MODEL, { status: "SCHEDULING", nowMs: 0 });
  expect(await remove(store)).toBe(false);
  expect(await registry.find("acme", "shop")).toBeDefined();
});

test("a trainer that slept while another finished the removal does not touch a new model of that name", async () => {
  for (let sleepsAt = 1; sleepsAt <= 4; sleepsAt++) {
    const { registry, store, remove, left } = await aDyingModel();
    let made: string[] | undefined;
    let calls = 0;
    const mayWake = async () => {
      if (++calls !== sleepsAt) return;
      await remove(store);
      const createdAt = "2030-01-01T00:00:00.000Z";
      await registry.insert(database, { customer: "acme", spec: specOf("shop", "wait"), createdAt, nextRunAt: null });
      await setStatus(store, MODEL, { status: "SCHEDULING", nowMs: 0 });
      await store.putIfAbsent(`${prefixOf("acme", "shop")}blobs/a`, new Uint8Array(1), "text/plain");
      made = await left();
    };
    const sleeping: ObjectStore = {
      ...store,
      get: (...of) => mayWake().then(() => store.get(...of)),
      swap: (...of) => mayWake().then(() => store.swap(...of)),
      async *list(prefix) {
        await mayWake();
        yield* store.list(prefix);
      },
    };
    await remove(sleeping).catch(({ message }) => expect(message).toContain("by another trainer"));
    expect([sleepsAt, await left()]).toEqual([sleepsAt, made]);
    expect(await registry.find("acme", "shop")).toMatchObject({ status: "SCHEDULING" });
    await registry.apply("acme", "shop", { kind: "destroying" });
    await remove(store);
  }
});

test("a new model under the name of a removed one uses nothing of the old one", { timeout: 60_000 }, async () => {
  const { registry, store, folders, remove, left } = await aDyingModel();
  const folder = await freshFolder();
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  onTestFinished(() => {
    connection.closeSync();
    instance.closeSync();
  });
  const train = async (kind: Kind, nowMs: number) => {
    await setStatus(store, MODEL, { status: "SCHEDULING", nowMs });
    await connection.run(eventsOf(kind, nowMs, join(folder, "events.parquet")));
    const { outcome, data } = await trainOnFiles({
      model: MODEL,
      folder,
      ...INCREMENTAL_EVENTS,
      store,
      nowMs,
      settings: {
        modelDirectory: await folders.makeModel("acme", "shop"),
        incremental: { overlapSeconds: 3600, fullReadSeconds: 86_400 },
      },
    });
    return { outcome, data, keys: await left() };
  };
  await remove(store);
  await registry.insert(database, { customer: "acme", spec: specOf("shop", "wait"), nextRunAt: null });
  const old = await train("old", NOW);
  const pointer = await readLivePointer(store, MODEL);
  expect(old.outcome).toMatchObject({ kind: "published", version: pointer!.pointer.live!.version });

  const kept = async () => (await readdir(await folders.makeModel("acme", "shop"))).length;
  expect(await kept()).toBeGreaterThan(0);
  await registry.apply("acme", "shop", { kind: "destroying" });
  expect([await remove(store), await left(), await kept()]).toEqual([true, [], 0]);
  await registry.insert(database, { customer: "acme", spec: specOf("shop", "wait"), nextRunAt: null });
  expect((await storedVersions(store, MODEL)).map(({ version }) => version)).toEqual([]);
  const again = await train("new", NOW + 60_000);
  expect(again.data).toMatchObject({ interactions: 2000, items: SHOPS.new.items });
  expect(again.data!.sources!.join()).toContain("2000 rows read in full");
  const { version } = (await readLivePointer(store, MODEL))!.pointer.live!;
  const { score_recipe: recipe } = (await readManifest(store, MODEL, version))!;
  const isRecipe = (key: string) => key.endsWith(recipe!.digest.replace("sha256:", "/")); // same for both, as it has no data
  const common = again.keys.filter((key) => old.keys.includes(key));
  expect(common.filter((key) => !isRecipe(key))).toEqual([livePointerKey("acme", "shop")]);
  expect((await storedVersions(store, MODEL)).map(({ version }) => version)).toEqual([version]);
  const named = descriptorsOf((await readManifest(store, MODEL, version))!).map(({ digest }) => digest);
  const blobs = again.keys.filter((key) => key.includes("/blobs/"));
  expect(blobs).toEqual(named.map((digest) => blobKey("acme", "shop", digest)).sort());
  await remove(store);
});

/** Item counts and strides, chosen so that the two shops have no file in common. */
const SHOPS = { old: { items: 23, step: 7 }, new: { items: 31, step: 5 } } as const;
type Kind = keyof typeof SHOPS;
const NOW = Date.parse("2024-03-01T00:00:00Z");
const eventsOf = (kind: Kind, nowMs: number, path: string) =>
  `COPY (SELECT '${kind}-user-' || range % 60 AS u, '${kind}-item-' || (range * ${SHOPS[kind].step}) % ${SHOPS[kind].items} AS i,
          make_timestamp(${nowMs - 9 * 86_400_000}000 + range * 120000000) AS t, 1 AS l FROM range(2000))
   TO '${path}' (FORMAT parquet)`;
