import { beforeEach, expect, test } from "vitest";
import { livePointers } from "../../../edge/versions/live-pointers.ts";
import type { LivePointer } from "../../../shared/live-pointer.ts";
import { memoryReader, type Stored } from "../../fixtures/edge-bucket.ts";

const KEY = "models/acme/shop/live.json";
const live = { version: "v1", manifest: { media_type: "m", digest: `sha256:${"0".repeat(64)}`, size: 1 } };
const pointer = (status: LivePointer["status"], version: string | null = "v1"): string =>
  JSON.stringify({ format: 1, status, live: version && { ...live, version }, updated_at: "2026-01-01T00:00:00Z" });
const broken = () => Promise.reject(new Error("down"));

let objects: Map<string, Stored>;
let now: number;
let background: Promise<unknown>[];
const ask = async (pointers: ReturnType<typeof livePointers>, name = "shop", customer = "acme") => {
  const { reader } = memoryReader(objects);
  const access = { nowMs: () => now, waitUntil: (work: Promise<unknown>) => void background.push(work), reader };
  return pointers.liveVersion(customer, name, access);
};
const versionOf = async (pointers: ReturnType<typeof livePointers>) => (await ask(pointers)).live?.version;

beforeEach(() => {
  objects = new Map([[KEY, pointer("ACTIVE")]]);
  now = 0;
  background = [];
});

test("an active model has a live version", async () =>
  expect(await ask(livePointers(4000))).toEqual({ customer: "acme", modelName: "shop", live, confirmedMs: 0 }));

test("the call that reads a pointer gets its manifest, which is not kept", async () => {
  objects.set(KEY, JSON.stringify({ ...JSON.parse(pointer("ACTIVE")), manifest_json: "{}" }));
  const pointers = livePointers(4000);
  expect(await ask(pointers)).toMatchObject({ manifestJson: "{}" });
  expect((await ask(pointers)) as object).toMatchObject({ manifestJson: undefined });
});

test.each(["SCHEDULING", "FETCHING", "TRAINING", "DEPLOYING", "ERROR"] as const)(
  "%s is not active, says so, and when to ask again",
  async (status) => {
    objects.set(KEY, pointer(status, null));
    await expect(ask(livePointers(4000))).rejects.toMatchObject({
      code: "model_not_active",
      extra: { model_status: status },
      retryAfterSeconds: expect.any(Number),
    });
  },
);

test("a model that waits for events says what they mean, and has the error for a call before the first one", async () => {
  const meanings = { view: { label: true, seen: true } };
  objects.set(KEY, JSON.stringify({ ...JSON.parse(pointer("FETCHING", null)), events: { meanings } }));
  const notActive = expect.objectContaining({ code: "model_not_active", extra: { model_status: "FETCHING" } });
  expect(await ask(livePointers(4000))).toEqual({
    customer: "acme",
    modelName: "shop",
    live: null,
    meanings,
    notActive,
  });
});

test("absent, deleted, another customer's and invalid names get the same error", async () => {
  const pointers = livePointers(4000);
  const absent = await ask(pointers, "absent").catch((error: Error) => error.message.replace("absent", "shop"));
  const foreign = await ask(pointers, "shop", "globex").catch((error: Error) => error.message);
  objects.set(KEY, pointer("DESTROYING", null));
  const deleted = await ask(pointers).catch((error: Error) => error.message);
  expect(new Set([absent, foreign, deleted])).toEqual(new Set(['There is no model with the name "shop".']));
  for (const name of ["../acme/shop", "", "a/b", "x".repeat(1000)])
    await expect(ask(pointers, name)).rejects.toMatchObject({ code: "model_not_found" });
});

test("a model without a live version is reported, so that a deleted model's versions are evicted", async () => {
  const told: string[] = [];
  const pointers = livePointers(0, ({ customer, modelName }) => told.push(`${customer}/${modelName}`));
  await ask(pointers);
  objects.set(KEY, broken);
  now = 1;
  await ask(pointers);
  expect(told).toEqual([]);
  for (const status of ["DESTROYING", "SCHEDULING", "TRAINING"] as const) {
    objects.set(KEY, pointer(status, null));
    now += 2000;
    await expect(ask(pointers)).rejects.toThrow();
  }
  objects.delete(KEY);
  now += 2000;
  await expect(ask(pointers)).rejects.toThrow();
  expect(told).toEqual(Array(4).fill("acme/shop"));
});

test("a new version is seen within twice the cache time while requests come", async () => {
  const pointers = livePointers(4000);
  await ask(pointers);
  objects.set(KEY, pointer("ACTIVE", "v2"));
  now = 3999;
  expect(await versionOf(pointers)).toBe("v1");
  now = 4000; // refreshes in the background
  expect(await versionOf(pointers)).toBe("v1");
  await Promise.all(background);
  expect(await versionOf(pointers)).toBe("v2");
});
test("a version was live when the read of its pointer began", async () => {
  const pointers = livePointers(4000);
  now = 1000;
  objects.set(KEY, async () => {
    now += 300;
    return new TextEncoder().encode(pointer("ACTIVE"));
  });
  const confirmedMs = async () => ((await ask(pointers)) as { confirmedMs: number }).confirmedMs;
  expect(await confirmedMs()).toBe(1000);
  now = 4000;
  expect(await confirmedMs()).toBe(1000); // from memory
  now = 10_000;
  expect(await confirmedMs()).toBe(10_000);
});
test("after a pause a new version is seen at once", async () => {
  const pointers = livePointers(4000);
  await ask(pointers);
  objects.set(KEY, pointer("ACTIVE", "v2"));
  now = 8000;
  expect(await versionOf(pointers)).toBe("v2");
});
test("while it cannot be read, the last pointer is used for five minutes", async () => {
  const pointers = livePointers(4000);
  await ask(pointers);
  objects.set(KEY, broken);
  now = 299_000;
  expect(await versionOf(pointers)).toBe("v1");
  now = 301_000;
  await expect(ask(pointers)).rejects.toMatchObject({ code: "artifact_unavailable" });
});
test.each(["", "{}", '{"format":2}'])("a pointer with the content %s is unavailable, not absent", async (text) => {
  objects.set(KEY, text);
  await expect(ask(livePointers(4000))).rejects.toMatchObject({ code: "artifact_unavailable" });
});
