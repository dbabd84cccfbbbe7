import { expect, test } from "vitest";
import type { LogEntry } from "../../../../trainer/log/log.ts";
import type { ModelRegistry } from "../../../../trainer/manage/records/model-registry.ts";
import type { Model } from "../../../../trainer/manage/records/model-transitions.ts";
import { pointerKeeper } from "../../../../trainer/manage/runs/pointer-keeper.ts";
import { readLivePointer } from "../../../../trainer/store/live-pointer-swap.ts";
import { memoryStore } from "../../../../trainer/store/memory-store.ts";
import { aModel } from "../../../fixtures/trainer-model.ts";

const MODEL = { customer: "acme", modelName: "shop" };

/** A keeper of one model, over a bucket whose every write is noted and that can be down. */
function setUp() {
  const store = memoryStore();
  const seen = { model: aModel(), isDown: false, written: [] as string[], logs: [] as LogEntry[], writeMs: 0 };
  const swap: typeof store.swap = async (key, bytes, etag) => {
    seen.written.push(JSON.parse(new TextDecoder().decode(bytes)).status);
    if (seen.isDown) throw new Error("down");
    if (seen.writeMs) await new Promise((done) => setTimeout(done, seen.writeMs));
    return store.swap(key, bytes, etag);
  };
  const registry = { find: async () => seen.model } as unknown as ModelRegistry;
  const log = (entry: LogEntry) => void seen.logs.push(entry);
  const keeper = pointerKeeper({ store: { ...store, swap }, registry, nowMs: Date.now, log });
  const status = async () => (await readLivePointer(store, MODEL))?.pointer.status;
  const enter = (state: Model["training"]["state"]) => {
    seen.model = aModel({}, { state });
    keeper.settle(MODEL);
  };
  return { seen, keeper, status, enter };
}

test("of states that follow fast, the first and the last are written, never one after a later one", async () => {
  const { seen, keeper, status, enter } = setUp();
  seen.writeMs = 100;
  enter("SCHEDULED");
  await expect.poll(() => seen.written).toEqual(["SCHEDULING"]);
  for (const state of ["FETCHING", "TRAINING", "FAILED"] as const) enter(state);
  await keeper.idle();
  expect([seen.written, await status()]).toEqual([["SCHEDULING", "ERROR"], "ERROR"]);
});

test("what fails is logged without the model's spec, and made good by the next try", async () => {
  const { seen, keeper, status } = setUp();
  seen.isDown = true;
  keeper.settle({ ...MODEL, spec: "hunter2" } as typeof MODEL);
  await keeper.idle();
  expect(seen.logs).toEqual([expect.objectContaining({ event: "pointer_not_settled", model_name: "shop" })]);
  expect(JSON.stringify(seen.logs)).not.toContain("hunter2");
  seen.isDown = false;
  keeper.retry();
  await keeper.idle();
  expect(await status()).toBe("SCHEDULING");
  keeper.retry(); // nothing is left to be tried
  await keeper.idle();
  expect(seen.written).toEqual(["SCHEDULING", "SCHEDULING"]);
});

test("who waits, waits for the write, but not for ever", async () => {
  const { seen, keeper, status, enter } = setUp();
  enter("SCHEDULED");
  await keeper.settled(MODEL, 10_000);
  expect(await status()).toBe("SCHEDULING");
  await keeper.settled(MODEL, 10_000); // there is nothing to wait for
  seen.writeMs = 300;
  enter("FETCHING");
  await keeper.settled(MODEL, 20);
  expect(await status()).toBe("SCHEDULING");
  await keeper.idle();
});
