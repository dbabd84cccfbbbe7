import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { keyring, REFUSAL_MS, requireScope } from "../../edge/auth.ts";
import { formatApiKey, hashApiKey } from "../../shared/api-key.ts";
import { type KeyRecord, keyRecordKey } from "../../shared/key-record.ts";
import { memoryReader, type Stored } from "../fixtures/edge-bucket.ts";

const API_KEY = formatApiKey(Uint8Array.from({ length: 64 }, (_, i) => i));
const OBJECT = keyRecordKey(await hashApiKey(API_KEY));
const recordWith = (more: Partial<KeyRecord> = {}): string =>
  JSON.stringify({
    format: 1,
    key_id: "abcdef012345",
    customer: "acme",
    scopes: ["rank"],
    created_at: "2026-01-01T00:00:00Z",
    expires_at: null,
    revoked_at: null,
    ...more,
  });
const REVOKED = recordWith({ revoked_at: "2026-01-02T00:00:00Z" });
const broken = () => Promise.reject(new Error("down"));

let objects: Map<string, Stored>;
let now: number;
let reads: string[];
const ask = (keys: ReturnType<typeof keyring>, apiKey = API_KEY, timeoutMs?: number) => {
  const memory = memoryReader(objects, timeoutMs);
  reads = memory.reads;
  return keys.callerOf(apiKey, { nowMs: () => now, waitUntil: () => {}, reader: memory.reader });
};

beforeEach(() => {
  objects = new Map([[OBJECT, recordWith()]]);
  now = Date.parse("2026-06-01T00:00:00Z");
});

test("a known key tells who is calling", async () =>
  expect(await ask(keyring(25_000))).toEqual({ keyId: "abcdef012345", customer: "acme", scopes: ["rank"] }));

test.each([
  ["", "missing_api_key"],
  ["junk", "invalid_api_key"],
  [`${API_KEY.slice(0, -1)}${API_KEY.endsWith("0") ? "1" : "0"}`, "invalid_api_key"],
  [`${API_KEY}\u0000`, "invalid_api_key"],
  [API_KEY.repeat(1000), "invalid_api_key"],
])("%.20s is refused before any read", async (apiKey, code) => {
  await expect(ask(keyring(25_000), apiKey)).rejects.toMatchObject({ code });
  expect(reads).toEqual([]);
});
test("an unknown key is remembered as unknown for a moment, then looked for again", async () => {
  objects.clear();
  const keys = keyring(25_000);
  await expect(ask(keys)).rejects.toMatchObject({ code: "invalid_api_key" });
  objects.set(OBJECT, recordWith());
  now += 4999;
  await expect(ask(keys)).rejects.toMatchObject({ code: "invalid_api_key" });
  expect(reads).toEqual([]);
  now += 1;
  expect((await ask(keys)).customer).toBe("acme");
});
test("an expired key is refused from its second on, cached or not", async () => {
  objects.set(OBJECT, recordWith({ expires_at: "2026-06-01T00:00:05Z" }));
  const keys = keyring(25_000);
  await ask(keys);
  now += 5000;
  await expect(ask(keys)).rejects.toMatchObject({ code: "invalid_api_key" });
});

test("a revoked key stops within the cache's time", async () => {
  const keys = keyring(25_000);
  await ask(keys);
  objects.set(OBJECT, REVOKED);
  now += 25_000;
  await expect(ask(keys)).rejects.toMatchObject({ code: "invalid_api_key" });
});
test("while records cannot be read, a known key works on, but never for a minute", async () => {
  const keys = keyring(25_000);
  await ask(keys);
  objects.set(OBJECT, broken);
  now += 44_000;
  expect((await ask(keys)).customer).toBe("acme");
  now += 2000;
  await expect(ask(keys)).rejects.toMatchObject({ code: "artifact_unavailable", retryAfterSeconds: 2 });
});
test("a key that was never read cannot be let in while records cannot be read", async () => {
  objects.set(OBJECT, broken);
  await expect(ask(keyring(25_000))).rejects.toMatchObject({ code: "artifact_unavailable" });
});
test("a damaged record is unavailable, not invalid", async () => {
  objects.set(OBJECT, '{"format":1}');
  await expect(ask(keyring(25_000))).rejects.toMatchObject({ code: "artifact_unavailable" });
});

test("a scope that the key lacks is named, with those that it has", () => {
  const caller = { keyId: "k", customer: "acme", scopes: ["rank"] as const };
  requireScope(caller, "rank");
  expect(() => requireScope(caller, "manage")).toThrow("scope manage; this one has rank");
});

describe("every refusal of a key leaves at the same time, however long its record took", () => {
  beforeEach(() => vi.useFakeTimers());
  afterEach(() => vi.useRealTimers());

  const { setImmediate } = globalThis; // hashing the key is no work of the fake clock's
  const readFor = (ms: number, text: string) => () =>
    new Promise<Uint8Array>((resolve) => setTimeout(resolve, ms, new TextEncoder().encode(text)));
  /** Of the fake clock. */
  const refusedAfterMs = async (apiKey: string, stored?: Stored) => {
    objects = new Map(stored === undefined ? [] : [[OBJECT, stored]]);
    const begin = performance.now();
    let refused: { readonly code: string; readonly ms: number } | undefined;
    ask(keyring(25_000), apiKey, 2 * REFUSAL_MS).catch(({ code }) => {
      refused = { code, ms: performance.now() - begin };
    });
    while (refused === undefined && vi.getTimerCount() === 0) await new Promise((resolve) => setImmediate(resolve));
    await vi.advanceTimersByTimeAsync(4 * REFUSAL_MS);
    return refused;
  };

  test.each([
    ["none", "", undefined, "missing_api_key", REFUSAL_MS],
    ["junk", "junk", undefined, "invalid_api_key", REFUSAL_MS],
    ["unknown", API_KEY, undefined, "invalid_api_key", REFUSAL_MS],
    ["revoked", API_KEY, readFor(0.4, REVOKED), "invalid_api_key", REFUSAL_MS],
    ["revoked, read slowly", API_KEY, readFor(40.7, REVOKED), "invalid_api_key", REFUSAL_MS],
    ["revoked, read too slowly", API_KEY, readFor(REFUSAL_MS + 40, REVOKED), "invalid_api_key", 2 * REFUSAL_MS],
  ] as const)("%s", async (_name, apiKey, stored, code, ms) =>
    expect(await refusedAfterMs(apiKey, stored)).toEqual({ code, ms }),
  );

  test("what says nothing of the key does not wait", async () =>
    expect(await refusedAfterMs(API_KEY, broken)).toEqual({ code: "artifact_unavailable", ms: 0 }));
  test("a known key does not wait, and leaves no timer behind", async () => {
    expect((await ask(keyring(25_000))).customer).toBe("acme");
    expect(vi.getTimerCount()).toBe(0);
  });
});
