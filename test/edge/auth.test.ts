import { beforeEach, expect, test, vi } from "vitest";
import { keyring, REFUSAL_MS, refuseInTime, requireScope } from "../../edge/auth.ts";
import { formatApiKey, hashApiKey } from "../../shared/api-key.ts";
import { type KeyRecord, keyRecordKey } from "../../shared/key-record.ts";
import { Problem } from "../../shared/problem.ts";
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
const ask = (keys: ReturnType<typeof keyring>, apiKey: string | undefined = API_KEY) => {
  const memory = memoryReader(objects);
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

test("every refusal of a key leaves at the same time, however long its record took", async () => {
  vi.useFakeTimers();
  try {
    const startedMs = Date.now();
    const leftAt = async (code: "missing_api_key" | "invalid_api_key" | "artifact_unavailable", afterMs: number) => {
      vi.setSystemTime(startedMs + afterMs);
      const left = refuseInTime(new Problem(code, "x"), startedMs, Date.now).catch(() => Date.now() - startedMs);
      await vi.runAllTimersAsync();
      return left;
    };
    for (const [code, afterMs] of [
      ["missing_api_key", 0],
      ["invalid_api_key", 1],
      ["invalid_api_key", 40],
    ] as const)
      expect(await leftAt(code, afterMs)).toBe(REFUSAL_MS);
    expect(await leftAt("invalid_api_key", REFUSAL_MS + 5)).toBe(REFUSAL_MS + 5);
    expect(await leftAt("artifact_unavailable", 1)).toBe(1);
  } finally {
    vi.useRealTimers();
  }
});
