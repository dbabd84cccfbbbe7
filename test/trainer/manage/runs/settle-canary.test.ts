import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type ExposureCount, exposureCountsKey } from "../../../../shared/experiment/counts.ts";
import type { RunRecord } from "../../../../shared/run-record.ts";
import { type Database, openDatabase } from "../../../../trainer/manage/records/database.ts";
import { endedRuns, storeEndedRun } from "../../../../trainer/manage/records/ended-runs.ts";
import { modelRegistry } from "../../../../trainer/manage/records/model-registry.ts";
import { reconcileRecords } from "../../../../trainer/manage/runs/reconcile-records.ts";
import { settleCanary } from "../../../../trainer/manage/runs/settle-canary.ts";
import { readLivePointer, setStatus } from "../../../../trainer/store/live-pointer-swap.ts";
import { publish } from "../../../../trainer/store/publish.ts";
import { sweep } from "../../../../trainer/store/sweep.ts";
import { activate } from "../../../../trainer/store/versions.ts";
import { memoryStore } from "../../../fixtures/memory-store.ts";
import { tinyVersion } from "../../../fixtures/tiny-version.ts";
import { specOf } from "../../../fixtures/trainer-spec.ts";
import { freshState } from "../../../fixtures/trainer-state.ts";

const HOUR_MS = 3_600_000;
const START_MS = Date.UTC(2026, 0, 1);
const CANARY = { share: 0.05, hours: 24, goal: { type: "purchase", within_hours: 24 }, edgeMemoryBytes: 80e6 };
const RUN: Omit<RunRecord, "run_id" | "version" | "started_at" | "ended_at"> = {
  ...{ outcome: "published", attempt: 1, stages: [], read: null, quality: null, failure: null, report: null },
};

let database: Database;
beforeAll(async () => {
  database = await openDatabase(null, await freshState());
});
afterAll(() => database.close());

let shops = 0;
let shop: Awaited<ReturnType<typeof startShop>>;
beforeEach(async () => {
  shop = await startShop();
});

/** A model with a live version, whose further versions begin as canaries. */
async function startShop() {
  let now = START_MS;
  const nowMs = () => now;
  const model = { customer: "acme", modelName: `shop${++shops}` };
  const store = memoryStore(nowMs);
  const registry = modelRegistry(database, nowMs);
  const context = { store, registry, nowMs };
  await registry.insert(database, { customer: "acme", spec: specOf(model.modelName, "wait"), nextRunAt: null });
  await setStatus(store, model, { status: "SCHEDULING", nowMs: now });
  const pointer = async () => (await readLivePointer(store, model))!.pointer;
  const it = {
    store,
    model,
    pointer,
    record: async () => (await registry.find("acme", model.modelName))!,
    async train(canary: typeof CANARY | undefined = CANARY) {
      now += 1000;
      const built = await tinyVersion(`v${now}`, now, { model });
      const signal = new AbortController().signal;
      const state = await publish(built, new Uint8Array(1), { store, nowMs, signal, progress: () => {}, canary });
      const time = new Date(now).toISOString();
      const run: RunRecord = {
        ...RUN,
        run_id: built.version,
        version: built.version,
        started_at: time,
        ended_at: time,
      };
      await storeEndedRun(database, model, { ...run, ...(state && { canary: state }) });
      return { version: built.version, state };
    },
    after(hours: number) {
      now += hours * HOUR_MS;
    },
    async settle() {
      await reconcileRecords(model, context);
      if (await settleCanary(model, context)) await reconcileRecords(model, context);
    },
    activate: (version: string) => activate(store, model, { version, nowMs: now }),
    /** Writes what the shards would write: users, and how many of them bought, by arm. */
    async count(arms: Readonly<Record<string, readonly [exposed: number, reached: number]>>) {
      const counts: ExposureCount[] = Object.entries(arms).map(([arm, [exposed, reached]]) => ({
        ...{ arm, revision: 0, from: START_MS, exposed, reached, guarded: 0 },
      }));
      const key = exposureCountsKey("acme", (await pointer()).canary!.salt, "0-0");
      await store.delete(key);
      await store.putIfAbsent(key, new TextEncoder().encode(JSON.stringify({ format: 1, counts })), "application/json");
    },
    canaryOf: async (version: string) =>
      (await endedRuns(database, model)).find((run) => run.version === version)!.canary,
    sweep: (spentBeforeMs: number) =>
      sweep(store, model, { nowMs: now, spentBeforeMs, signal: new AbortController().signal }),
  };
  return it;
}

test("the first version goes live at once, and the next one serves its share for its hours, then goes live", async () => {
  const first = await shop.train();
  expect(first.state).toBeUndefined();
  const second = await shop.train();
  expect(second.state).toMatchObject({ state: "running", version: second.version, share: 0.05 });
  await shop.settle();
  const { live, canary } = await shop.pointer();
  expect(live!.version).toBe(first.version);
  expect(canary!.arms.map(({ name, buckets, version }) => [name, buckets, version?.version])).toEqual([
    ["live", [[0, 2000]], undefined],
    ["canary", [[2000, 2500]], second.version],
  ]);
  expect(await shop.record()).toMatchObject({ version: first.version, lastCanary: { state: "running", report: null } });
  await shop.count({ live: [4000, 400], canary: [1000, 100] });
  shop.after(23);
  await shop.settle();
  expect(await shop.record()).toMatchObject({
    version: first.version,
    lastCanary: { state: "running", report: { verdict: "running", arms: [{ exposed: 4000 }, { exposed: 1000 }] } },
  });
  const { revision } = await shop.record();
  shop.after(0.5);
  await shop.settle();
  expect((await shop.record()).revision).toBe(revision); // nobody has done anything, so nothing is written
  shop.after(1);
  await shop.settle();
  const after = await shop.pointer();
  expect([after.live!.version, after.canary]).toEqual([second.version, undefined]);
  const { version, lastCanary } = await shop.record();
  expect(version).toBe(second.version);
  expect(lastCanary).toMatchObject({ state: "live", reason: null, report: { verdict: "running" } });
  expect(await shop.canaryOf(second.version)).toEqual(lastCanary);
});

test("a worse version is taken back at once and kept, and the records say why", async () => {
  const first = await shop.train();
  const second = await shop.train();
  await shop.settle();
  await shop.count({ live: [4000, 800], canary: [1000, 80] });
  shop.after(2);
  await shop.settle();
  const { live, canary } = await shop.pointer();
  expect([live!.version, canary]).toEqual([first.version, undefined]);
  const { version, lastCanary } = await shop.record();
  expect(version).toBe(first.version);
  expect(lastCanary).toMatchObject({ state: "kept", report: { verdict: "worse" } });
  expect(lastCanary!.reason).toMatch(
    /^Of 1000 users with this version, fewer had the event purchase than of those with the live one: -60.0 % \(/,
  );
  expect(await shop.canaryOf(second.version)).toEqual(lastCanary);
  await shop.activate(second.version);
  expect((await shop.pointer()).live!.version).toBe(second.version);
});

test("without users, a version goes live; with users who are not divided as they should be, it is kept", async () => {
  await shop.train();
  const second = await shop.train();
  shop.after(25);
  await shop.settle();
  expect((await shop.record()).version).toBe(second.version);
  const third = await shop.train();
  await shop.count({ live: [4000, 400], canary: [700, 70] });
  shop.after(23);
  await shop.settle();
  expect((await shop.record()).lastCanary).toMatchObject({ version: third.version, state: "running" });
  shop.after(1);
  await shop.settle();
  const { version, lastCanary } = await shop.record();
  expect(version).toBe(second.version);
  expect(lastCanary).toMatchObject({ state: "kept", reason: expect.stringContaining("4000 live, 700 canary") });
});

test("a version that is made meanwhile waits, and a newer one takes its place", async () => {
  await shop.train();
  const second = await shop.train();
  const third = await shop.train();
  expect(third.state).toMatchObject({ state: "waiting", started_at: null });
  const fourth = await shop.train();
  await shop.settle();
  expect((await shop.canaryOf(third.version))!).toMatchObject({
    state: "kept",
    reason: expect.stringContaining("newer"),
  });
  shop.after(24);
  await shop.settle();
  const { live, canary, next_canary } = await shop.pointer();
  expect([live!.version, canary!.arms[1]!.version!.version, next_canary]).toEqual([
    second.version,
    fourth.version,
    undefined,
  ]);
  expect((await shop.canaryOf(second.version))!.state).toBe("live");
  expect((await shop.canaryOf(fourth.version))!.state).toBe("running");
  expect((await shop.record()).lastCanary).toMatchObject({ version: fourth.version, state: "running" });
});

test("a roll-back ends the canary and what waits, also one to the live version", async () => {
  const first = await shop.train();
  const second = await shop.train();
  const third = await shop.train();
  await shop.settle();
  await shop.activate(first.version);
  await shop.settle();
  expect(await shop.pointer()).toMatchObject({ live: { version: first.version } });
  expect((await shop.record()).lastCanary).toMatchObject({
    state: "kept",
    reason: expect.stringContaining("activated"),
  });
  for (const { version } of [second, third]) expect((await shop.canaryOf(version))!.state).toBe("kept");
  shop.after(48);
  await shop.settle();
  expect((await shop.record()).version).toBe(first.version);
  const fourth = await shop.train();
  await shop.settle();
  await shop.activate(fourth.version);
  await shop.settle();
  expect((await shop.record()).lastCanary).toMatchObject({ version: fourth.version, state: "live" });
});

test("a trainer that was off for a week finds the canary as it was, and then decides", async () => {
  const first = await shop.train();
  const second = await shop.train();
  shop.after(24 * 7);
  expect(await shop.pointer()).toMatchObject({ live: { version: first.version }, canary: { share: 0.05 } });
  await shop.settle();
  expect((await shop.record()).version).toBe(second.version);
});

test("versions that an edge cannot hold together have no canary: the new one goes live, and its run says why", async () => {
  await shop.train();
  const { version, state } = await shop.train({ ...CANARY, edgeMemoryBytes: 1 });
  expect(state).toMatchObject({ state: "live", reason: expect.stringContaining("both versions do not fit") });
  await shop.settle();
  expect((await shop.record()).version).toBe(version);
});

test("a sweep deletes no version of a canary, unless a record of an erased user is in it: then the canary ends", async () => {
  await shop.train();
  const second = await shop.train();
  const third = await shop.train();
  await shop.settle();
  shop.after(24 * 30);
  expect(await shop.sweep(0)).toEqual([]);
  await shop.sweep(START_MS + 24 * 30 * HOUR_MS);
  await shop.settle();
  expect(await shop.pointer()).not.toHaveProperty("canary");
  for (const { version } of [second, third]) expect((await shop.canaryOf(version))!.state).toBe("kept");
});
