import { expect, test } from "vitest";
import type { LivePointer } from "../../../../shared/live-pointer.ts";
import type { ModelRegistry } from "../../../../trainer/manage/records/model-registry.ts";
import { type Model, type ModelEvent, modelAfter } from "../../../../trainer/manage/records/model-transitions.ts";
import { agree } from "../../../../trainer/manage/runs/agree.ts";
import { changeLivePointer, readLivePointer } from "../../../../trainer/store/live-pointer-swap.ts";
import { memoryStore } from "../../../../trainer/store/memory-store.ts";
import type { ObjectStore } from "../../../../trainer/store/object-store.ts";
import { aModel, NOW } from "../../../fixtures/trainer-model.ts";

const REF = { customer: "acme", modelName: "shop" };
const manifest = { media_type: "x", digest: `sha256:${"0".repeat(64)}`, size: 1 };

/** One record in memory and one bucket; `meanwhile` happens once, between the agreement's look at the record and its write. */
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
    findVersion: async () => undefined,
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
  const settle = (store: ObjectStore = { ...inner, get, swap }) => agree(REF, { store, registry, nowMs: () => 0 });
  return { it, settle };
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
  const { it, settle } = world(aModel());
  await settle();
  expect(await it.pointer()).toMatchObject({ status: "SCHEDULING", live: null });
  await settle();
  expect(it.swaps).toEqual(["SCHEDULING"]); // what is said already is not said again
});

test("a model whose pointer is lost has one again while its run works: a run publishes only over a pointer", async () => {
  const { it, settle } = world(aModel({ status: "ACTIVE", version: "v1" }, { state: "FETCHING", attempt: 1 }));
  await settle();
  expect((await it.pointer())?.status).toBe("FETCHING");
});

test("a status that was overtaken while it was written is followed by the newer one", async () => {
  const { it, settle } = world(aModel(), async (now) => {
    now.model = aModel({ status: "ERROR" }, { state: "FAILED" });
  });
  await settle();
  expect((await it.pointer())?.status).toBe("ERROR");
});

test("which version is live the pointer knows", async () => {
  const { it, settle } = world(served("v1"));
  await it.point(live("v2"));
  await settle();
  expect(it.model).toMatchObject({ version: "v2", status: "ACTIVE" });
  expect((await it.pointer())?.live?.version).toBe("v2");
});

test("of a version that goes live while another is noted, the record tells too", async () => {
  const { it, settle } = world(served("v1"), async (now) => void (await now.point(live("v3"))));
  await it.point(live("v2"));
  await settle();
  expect(it.model?.version).toBe("v3");
});

test("that management says a model is active puts none live", async () => {
  const { it, settle } = world(served("v1"));
  await settle();
  expect(await it.pointer()).toBe(undefined);
});

test("a model that is deleted has a tombstone in place of its pointer, and one that never was has none", async () => {
  for (const model of [undefined, aModel({ status: "DESTROYING" })]) {
    const { it, settle } = world(model);
    await settle();
    expect(await it.pointer()).toBe(undefined);
    await it.point(live("v1"));
    await settle();
    expect(await it.pointer()).toMatchObject({ status: "DESTROYING", live: null });
  }
});

test("a status that arrives after the model is gone is taken back", async () => {
  const { it, settle } = world(aModel(), async (now) => {
    now.model = undefined; // deleted, removed and forgotten, by another trainer
  });
  await settle();
  expect([it.swaps, (await it.pointer())?.status]).toEqual([["SCHEDULING", "DESTROYING"], "DESTROYING"]);
});

test("a model that is made in place of one just deleted takes the place of its tombstone, whoever comes last", async () => {
  const { it, settle } = world(undefined, async (now) => {
    now.model = aModel();
  });
  await it.point({ status: "FETCHING", live: null });
  await settle();
  expect([it.swaps, (await it.pointer())?.status]).toEqual([["SCHEDULING"], "SCHEDULING"]);
});

test("a new model's live version outlives whoever slept after seeing the one before deleted", async () => {
  const { it, settle } = world(undefined);
  await it.point({ status: "DESTROYING", live: null });
  const store: ObjectStore = {
    ...it.store,
    async get(...of) {
      if (it.model === undefined) await it.point(live("v1"));
      it.model ??= served("v1");
      return it.store.get(...of);
    },
  };
  await settle(store);
  expect(await it.pointer()).toMatchObject(live("v1"));
});

test("a record that never stops changing is told, not waited for", async () => {
  let states = 0;
  const { settle } = world(aModel());
  const restless = {
    find: async () => aModel({}, { state: states++ % 2 ? "FETCHING" : "TRAINING" }),
  } as unknown as ModelRegistry;
  await expect(agree(REF, { store: memoryStore(), registry: restless, nowMs: () => 0 })).rejects.toThrow("10 times");
  await settle();
});
