import { afterAll, beforeAll, expect, test } from "vitest";
import { exposureCountsKey } from "../../../../shared/experiment/counts.ts";
import type { Holdout } from "../../../../shared/experiment/holdout.ts";
import { type Database, openDatabase } from "../../../../trainer/manage/records/database.ts";
import { modelRegistry } from "../../../../trainer/manage/records/model-registry.ts";
import { reconcileRecords } from "../../../../trainer/manage/runs/reconcile-records.ts";
import { settleHoldout } from "../../../../trainer/manage/runs/settle-holdout.ts";
import { readLivePointer, setStatus } from "../../../../trainer/store/live-pointer-swap.ts";
import { publish } from "../../../../trainer/store/publish.ts";
import { sweep } from "../../../../trainer/store/sweep.ts";
import { activate } from "../../../../trainer/store/versions.ts";
import { memoryStore } from "../../../fixtures/memory-store.ts";
import { tinyVersion } from "../../../fixtures/tiny-version.ts";
import { specOf } from "../../../fixtures/trainer-spec.ts";
import { freshState } from "../../../fixtures/trainer-state.ts";

const DAY_MS = 86_400_000;
const POPULAR: Holdout = { share: 0.02, goal: { type: "purchase", within_hours: 24 } };

let database: Database;
beforeAll(async () => {
  database = await openDatabase(null, await freshState());
});
afterAll(() => database.close());

async function startShop(modelName: string) {
  let now = Date.UTC(2026, 0, 1);
  const nowMs = () => now;
  const model = { customer: "acme", modelName };
  const store = memoryStore(nowMs);
  const registry = modelRegistry(database, nowMs);
  const signal = new AbortController().signal;
  await registry.insert(database, { customer: "acme", spec: specOf(modelName, "wait"), nextRunAt: null });
  await setStatus(store, model, { status: "SCHEDULING", nowMs: now });
  const record = async () => (await registry.find("acme", modelName))!;
  return {
    record,
    pointer: async () => (await readLivePointer(store, model))!.pointer,
    async train() {
      now += 1000;
      const built = await tinyVersion(`v${now}`, now, { model });
      await publish(built, new Uint8Array(1), { store, nowMs, signal, progress: () => {} });
      return built.version;
    },
    async set(holdout: Holdout | undefined) {
      const { spec } = await record();
      const { holdout: _, ...rest } = spec;
      const change = { kind: "changed" as const, from: spec, spec: { ...rest, ...(holdout && { holdout }) } };
      await registry.apply("acme", modelName, { ...change, retrain: false, nextRunAt: null });
    },
    async settle() {
      await reconcileRecords(model, { store, registry, nowMs });
      await settleHoldout(model, { store, registry, nowMs });
    },
    after(days: number) {
      now += days * DAY_MS;
    },
    async count(salt: string, counts: Readonly<Record<string, readonly [number, number]>>) {
      const rows = Object.entries(counts).map(([arm, [exposed, reached]]) => ({
        ...{ arm, revision: 0, from: now, exposed, reached, guarded: 0 },
      }));
      const bytes = new TextEncoder().encode(JSON.stringify({ format: 1, counts: rows }));
      await store.putIfAbsent(exposureCountsKey("acme", salt, "0-0"), bytes, "application/json");
    },
    activate: (version: string) => activate(store, model, { version, nowMs: now }),
    sweep: (spentBeforeMs: number) => sweep(store, model, { nowMs: now, spentBeforeMs, signal }),
    nowMs,
  };
}

test("the pointer holds out whom the setting says, through trainings and roll-backs, and the record has the number", async () => {
  const shop = await startShop("popular");
  const first = await shop.train();
  await shop.set(POPULAR);
  await shop.settle();
  const { holdout } = await shop.pointer();
  expect(holdout!.arms.map(({ name, buckets, strategy }) => [name, buckets, strategy])).toEqual([
    ["holdout", [[800, 1000]], "popular"],
    ["model", [[0, 800]], null],
  ]);
  expect((await shop.record()).earnings).toMatchObject({ lift: null, problem: null, holdout: { exposed: 0 } });
  await shop.train();
  await shop.activate(first);
  await shop.settle();
  expect((await shop.pointer()).holdout).toEqual(holdout);
  await shop.count(`${holdout!.salt}-0`, { holdout: [2000, 100], model: [8000, 800] });
  await shop.settle();
  expect((await shop.record()).earnings).toMatchObject({ lift: { value: 1 }, more_per_1000_users: 50 });
  shop.after(30); // the first four weeks are over, and stay the reported ones
  await shop.settle();
  expect((await shop.record()).earnings).toMatchObject({ lift: { value: 1 } });
  await shop.set({ ...POPULAR, share: 0.05 });
  await shop.settle();
  expect((await shop.pointer()).holdout!.arms[0]!.buckets).toEqual([[2000, 2500]]);
  await shop.set(undefined);
  await shop.settle();
  expect(await shop.pointer()).not.toHaveProperty("holdout");
  expect((await shop.record()).earnings).toBeNull();
});

test("an older version stays for its holdout, unless a record of an erased user is in it: then the record says so", async () => {
  const shop = await startShop("pinned");
  const first = await shop.train();
  await shop.set({ ...POPULAR, version: first });
  await shop.settle();
  for (let i = 0; i < 12; i++) await shop.train();
  shop.after(3);
  await shop.train();
  await shop.sweep(0);
  await shop.settle();
  const [held, model] = (await shop.pointer()).holdout!.arms;
  expect([held!.version!.version, held!.strategy, model!.version]).toEqual([first, null, null]);
  await shop.sweep(shop.nowMs());
  await shop.settle();
  expect(await shop.pointer()).not.toHaveProperty("holdout");
  expect((await shop.record()).earnings!.problem).toContain(`has no version "${first}"`);
});
