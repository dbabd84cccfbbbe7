import { afterAll, beforeAll, expect, test } from "vitest";
import { prefixOf } from "../../../shared/manifest.ts";
import { type Database, openDatabase } from "../../../trainer/management/database.ts";
import { modelFolders } from "../../../trainer/management/model-folders.ts";
import { modelRegistry } from "../../../trainer/management/model-registry.ts";
import { removeModel } from "../../../trainer/management/remove-model.ts";
import { runLedger } from "../../../trainer/management/run-ledger.ts";
import { setStatus } from "../../../trainer/publish/live-pointer-swap.ts";
import { memoryStore } from "../../../trainer/publish/memory-store.ts";
import type { ObjectStore } from "../../../trainer/publish/object-store.ts";
import { faultyStore } from "../../fixtures/faulty-store.ts";
import { specOf } from "../../fixtures/trainer-spec.ts";
import { freshFolder, freshState } from "../../fixtures/trainer-state.ts";

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
  const settled: string[] = [];
  const pointers = { settled: async () => void settled.push(...(await left())) };
  const remove = (through: ObjectStore) =>
    removeModel(MODEL, { registry, ledger, pointers, folders, nowMs: Date.now, signal, store: through });
  const left = async () => {
    const keys = [];
    for await (const { key } of store.list("")) keys.push(key);
    return keys;
  };
  return { registry, ledger, store, remove, left, settled };
}

test("after a crash at any point the same call finishes, and the row is there until all is gone", async () => {
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

test("a status that is still on its way is waited for, before anything is removed", async () => {
  const { store, remove, settled } = await aDyingModel();
  await remove(store);
  expect(settled).toHaveLength(3);
});

test("while a trainer works on a run of it, nothing is removed", async () => {
  const { ledger, registry, store, remove, left } = await aDyingModel();
  await ledger.create(database, { runId: "run-held", ...MODEL });
  const claim = (await ledger.claim("run-held"))!;
  expect(await remove(store)).toBe(false);
  expect(await left()).toHaveLength(3);
  await ledger.finish(claim, "cancelled");
  expect(await remove(store)).toBe(true);
  expect(await registry.find("acme", "shop")).toBe(undefined);
});

test("a model that nobody deletes is left alone", async () => {
  const { registry, store, remove } = await aDyingModel();
  await remove(store);
  await registry.insert(database, { customer: "acme", spec: specOf("shop", "wait"), nextRunAt: null });
  await setStatus(store, MODEL, { status: "SCHEDULING", nowMs: 0 });
  expect(await remove(store)).toBe(false);
  expect(await registry.find("acme", "shop")).toBeDefined();
});
