import { expect, test } from "vitest";
import type { LogEntry } from "../../../trainer/management/log.ts";
import { statusWriter } from "../../../trainer/management/status-writer.ts";
import { readLivePointer } from "../../../trainer/publish/live-pointer-swap.ts";
import { memoryStore } from "../../../trainer/publish/memory-store.ts";

const MODEL = { customer: "acme", modelName: "shop" };

test("of statuses that follow fast, the first and the last are written, never one after a later one", async () => {
  const store = memoryStore();
  const written: string[] = [];
  const swap: typeof store.swap = (key, bytes, etag) => {
    written.push(JSON.parse(new TextDecoder().decode(bytes)).status);
    return store.swap(key, bytes, etag);
  };
  const writer = statusWriter({ ...store, swap }, Date.now, () => {});
  for (const status of ["SCHEDULING", "FETCHING", "TRAINING", "ERROR"] as const) writer.write(MODEL, status);
  await writer.idle();
  expect(written).toEqual(["SCHEDULING", "ERROR"]);
  expect((await readLivePointer(store, MODEL))?.pointer.status).toBe("ERROR");
});

test("a store that fails is logged without the model's spec, and the next status is written", async () => {
  const store = memoryStore();
  const logs: LogEntry[] = [];
  let fails = true;
  const get: typeof store.get = (...args) => (fails ? Promise.reject(new Error("down")) : store.get(...args));
  const writer = statusWriter({ ...store, get }, Date.now, (entry) => void logs.push(entry));
  const withSpec = { ...MODEL, spec: "hunter2" };
  writer.write(withSpec, "FETCHING");
  await writer.idle();
  expect(logs).toEqual([
    expect.objectContaining({ event: "status_not_written", model_name: "shop", status: "FETCHING" }),
  ]);
  expect(JSON.stringify(logs)).not.toContain("hunter2");
  fails = false;
  writer.write(MODEL, "TRAINING");
  await writer.idle();
  expect((await readLivePointer(store, MODEL))?.pointer.status).toBe("TRAINING");
});

test("that a model is active is not management's to say: there would be no version behind it", async () => {
  const store = memoryStore();
  const writer = statusWriter(store, Date.now, () => {});
  writer.write(MODEL, "ACTIVE");
  await writer.idle();
  expect(await readLivePointer(store, MODEL)).toBe(undefined);
});
