import { describe, expect, test } from "vitest";
import type { LivePointer } from "../../../../shared/live-pointer.ts";
import type { ModelSpec } from "../../../../shared/model-spec.ts";
import type { LogEntry } from "../../../../trainer/log/log.ts";
import type { ModelRegistry } from "../../../../trainer/manage/records/model-registry.ts";
import { type Model, type ModelEvent, modelAfter } from "../../../../trainer/manage/records/model-transitions.ts";
import { pointerKeeper, reconcileRecords } from "../../../../trainer/manage/runs/reconcile-records.ts";
import { changeLivePointer, readLivePointer } from "../../../../trainer/store/live-pointer-swap.ts";
import type { ObjectStore } from "../../../../trainer/store/object-store.ts";
import { memoryStore } from "../../../fixtures/memory-store.ts";
import { aModel, NOW } from "../../../fixtures/trainer-model.ts";
import { specOf } from "../../../fixtures/trainer-spec.ts";

const REF = { customer: "acme", modelName: "shop" };
const manifest = { media_type: "x", digest: `sha256:${"0".repeat(64)}`, size: 1 };

/** One record in memory and one bucket. `meanwhile` runs once, after the record was read and before the pointer is written. */
function world(model: Model | undefined, meanwhile: (world: World) => Promise<void> = async () => {}) {
  const inner = memoryStore();
  const it: World = {
    model,
    swaps: [],
    store: inner,
    point: (change) => changeLivePointer(inner, REF, () => ({ format: 1, updated_at: NOW, ...change })),
    pointer: async () => (await readLivePointer(inner, REF))?.pointer,
  };
  const registry = {
    find: async () => it.model,
    apply: async (_customer: string, _name: string, event: ModelEvent) => {
      it.model = it.model && modelAfter(it.model, event, NOW);
      return it.model;
    },
  } as unknown as ModelRegistry;
  let pending = true;
  const get: ObjectStore["get"] = async (key, range) => {
    const found = await inner.get(key, range);
    if (pending && key.endsWith("live.json")) {
      pending = false;
      await meanwhile(it);
    }
    return found;
  };
  const swap: ObjectStore["swap"] = async (key, bytes, etag) => {
    it.swaps.push(JSON.parse(new TextDecoder().decode(bytes)).status);
    return inner.swap(key, bytes, etag);
  };
  const reconcile = (store: ObjectStore = { ...inner, get, swap }) =>
    reconcileRecords(REF, { store, registry, nowMs: () => 0 });
  return { it, reconcile };
}
type World = {
  model: Model | undefined;
  readonly swaps: string[];
  readonly store: ObjectStore;
  point(change: Pick<LivePointer, "status" | "live">): Promise<unknown>;
  pointer(): Promise<LivePointer | undefined>;
};
const live = (version: string) => ({ status: "ACTIVE" as const, live: { version, manifest } });
const served = (version: string) => aModel({ status: "ACTIVE", version }, { state: "IDLE", finishedAt: NOW });

test("a model without a version has the status of its record", async () => {
  const { it, reconcile } = world(aModel());
  await reconcile();
  expect(await it.pointer()).toMatchObject({ status: "SCHEDULING", live: null });
  await reconcile();
  expect(it.swaps).toEqual(["SCHEDULING"]); // a status that is there already is not written again
});

test("until it has a version, a model of events alone has their meanings in its pointer, and other models have none", async () => {
  const shop = specOf("shop", "wait");
  const specWith = (label: boolean, types: readonly string[]): ModelSpec => ({
    ...shop,
    connector_configs: types.map((type) => ({ type, id: type })),
    schema: { ...shop.schema, interaction: { ...shop.schema.interaction, events: { view: { label, seen: true } } } },
  });
  const { it, reconcile } = world(aModel({ spec: specWith(true, ["Events"]) }));
  await reconcile();
  expect(await it.pointer()).toMatchObject({ live: null, events: { meanings: { view: { label: true } } } });
  await reconcile();
  expect(it.swaps.length).toBe(1);
  it.model = aModel({ spec: specWith(false, ["Events"]) });
  await reconcile();
  expect((await it.pointer())?.events?.meanings).toEqual({ view: { label: false, seen: true } });
  it.model = aModel({ spec: specWith(false, ["Events", "File"]) });
  await reconcile();
  expect(await it.pointer()).toMatchObject({ status: "SCHEDULING", live: null });
  expect((await it.pointer())?.events).toBe(undefined);
  expect(it.swaps.length).toBe(3);
});

test("a pointer that was lost is written again while a run works, because a run can only replace a pointer", async () => {
  const { it, reconcile } = world(aModel({ status: "ACTIVE", version: "v1" }, { state: "FETCHING", attempt: 1 }));
  await reconcile();
  expect((await it.pointer())?.status).toBe("FETCHING");
});

test("a status that changed while the old one was written is written next", async () => {
  const { it, reconcile } = world(aModel(), async (now) => {
    now.model = aModel({ status: "ERROR" }, { state: "FAILED" });
  });
  await reconcile();
  expect((await it.pointer())?.status).toBe("ERROR");
});

test("the record adopts the version that is live in the pointer", async () => {
  const { it, reconcile } = world(served("v1"));
  await it.point(live("v2"));
  await reconcile();
  expect(it.model).toMatchObject({ version: "v2", status: "ACTIVE" });
  expect((await it.pointer())?.live?.version).toBe("v2");
});

test("the record also adopts a version that goes live while another one is adopted", async () => {
  const { it, reconcile } = world(served("v1"), async (now) => void (await now.point(live("v3"))));
  await it.point(live("v2"));
  await reconcile();
  expect(it.model?.version).toBe("v3");
});

test("the record's status ACTIVE alone puts no version live", async () => {
  const { it, reconcile } = world(served("v1"));
  await reconcile();
  expect(await it.pointer()).toBe(undefined);
});

test("a deleted model has a tombstone in place of its pointer; without a pointer there is no tombstone", async () => {
  for (const model of [undefined, aModel({ status: "DESTROYING" })]) {
    const { it, reconcile } = world(model);
    await reconcile();
    expect(await it.pointer()).toBe(undefined);
    await it.point(live("v1"));
    await reconcile();
    expect(await it.pointer()).toMatchObject({ status: "DESTROYING", live: null });
  }
});

test("a status that is written after the model was removed is replaced by a tombstone", async () => {
  const { it, reconcile } = world(aModel(), async (now) => {
    now.model = undefined; // another trainer deleted and removed it
  });
  await reconcile();
  expect([it.swaps, (await it.pointer())?.status]).toEqual([["SCHEDULING", "DESTROYING"], "DESTROYING"]);
});

test("a new model of the same name replaces the tombstone, in whatever order the writes arrive", async () => {
  const { it, reconcile } = world(undefined, async (now) => {
    now.model = aModel();
  });
  await it.point({ status: "FETCHING", live: null });
  await reconcile();
  expect([it.swaps, (await it.pointer())?.status]).toEqual([["SCHEDULING"], "SCHEDULING"]);
});

test("a trainer that slept after it saw the old model deleted does not bury the new model's live version", async () => {
  const { it, reconcile } = world(undefined);
  await it.point({ status: "DESTROYING", live: null });
  const store: ObjectStore = {
    ...it.store,
    async get(...of) {
      if (it.model === undefined) await it.point(live("v1"));
      it.model ??= served("v1");
      return it.store.get(...of);
    },
  };
  await reconcile(store);
  expect(await it.pointer()).toMatchObject(live("v1"));
});

test("a record that keeps changing is an error after ten rounds", async () => {
  let states = 0;
  const { reconcile } = world(aModel());
  const restless = {
    find: async () => aModel({}, { state: states++ % 2 ? "FETCHING" : "TRAINING" }),
  } as unknown as ModelRegistry;
  await expect(reconcileRecords(REF, { store: memoryStore(), registry: restless, nowMs: () => 0 })).rejects.toThrow(
    "10 times",
  );
  await reconcile();
});

describe("the pointer keeper", () => {
  /** A keeper of one model, over a bucket that notes its writes, can be slow and can be down. */
  function setUp() {
    const store = memoryStore();
    const seen = {
      model: aModel(),
      isDown: false,
      written: [] as string[],
      logs: [] as LogEntry[],
      writeMs: 0,
      settled: 0,
    };
    const swap: typeof store.swap = async (key, bytes, etag) => {
      seen.written.push(JSON.parse(new TextDecoder().decode(bytes)).status);
      if (seen.isDown) throw new Error("down");
      if (seen.writeMs) await new Promise((done) => setTimeout(done, seen.writeMs));
      return store.swap(key, bytes, etag);
    };
    const registry = { find: async () => seen.model } as unknown as ModelRegistry;
    const log = (entry: LogEntry) => void seen.logs.push(entry);
    const onSettled = () => void seen.settled++;
    const keeper = pointerKeeper({ store: { ...store, swap }, registry, nowMs: Date.now, log, onSettled });
    const status = async () => (await readLivePointer(store, REF))?.pointer.status;
    const enter = (state: Model["training"]["state"]) => {
      seen.model = aModel({}, { state });
      keeper.reconcile(REF);
    };
    return { seen, keeper, status, enter };
  }

  test("says when record and pointer agree, since another version may be live, and not when they do not", async () => {
    const { seen, keeper, enter } = setUp();
    enter("FETCHING");
    await keeper.idle();
    expect(seen.settled).toBe(1);
    seen.isDown = true;
    enter("TRAINING");
    await keeper.idle();
    expect(seen.settled).toBe(1);
  });

  test("writes the first and the last of states that follow fast, in order", async () => {
    const { seen, keeper, status, enter } = setUp();
    seen.writeMs = 100;
    enter("SCHEDULED");
    await expect.poll(() => seen.written).toEqual(["SCHEDULING"]);
    for (const state of ["FETCHING", "TRAINING", "FAILED"] as const) enter(state);
    await keeper.idle();
    expect([seen.written, await status()]).toEqual([["SCHEDULING", "ERROR"], "ERROR"]);
  });

  test("logs a failure without the model's spec, and tries again on retryFailed", async () => {
    const { seen, keeper, status } = setUp();
    seen.isDown = true;
    keeper.reconcile({ ...REF, spec: "hunter2" } as typeof REF);
    await keeper.idle();
    expect(seen.logs).toEqual([expect.objectContaining({ event: "pointer_not_settled", model_name: "shop" })]);
    expect(JSON.stringify(seen.logs)).not.toContain("hunter2");
    seen.isDown = false;
    keeper.retryFailed();
    await keeper.idle();
    expect(await status()).toBe("SCHEDULING");
    keeper.retryFailed(); // nothing has failed since
    await keeper.idle();
    expect(seen.written).toEqual(["SCHEDULING", "SCHEDULING"]);
  });

  test("waits for a write, up to a limit", async () => {
    const { seen, keeper, status, enter } = setUp();
    enter("SCHEDULED");
    await keeper.whenReconciled(REF, 10_000);
    expect(await status()).toBe("SCHEDULING");
    await keeper.whenReconciled(REF, 10_000); // returns at once
    seen.writeMs = 300;
    enter("FETCHING");
    await keeper.whenReconciled(REF, 20);
    expect(await status()).toBe("SCHEDULING");
    await keeper.idle();
  });
});
