import { beforeEach, expect, test } from "vitest";
import { keyring, requireScope } from "../../edge/auth.ts";
import type { ObjectCache } from "../../edge/reading/cached-objects.ts";
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
let limitUnknown: () => Promise<void>;
let hints: string[];
const callerOf = (keys: ReturnType<typeof keyring>, apiKey = API_KEY) => {
  const memory = memoryReader(objects);
  reads = memory.reads;
  return keys.callerOf(apiKey, {
    nowMs: () => now,
    waitUntil: () => {},
    reader: memory.reader,
    limitUnknown,
    onHint: (customer) => hints.push(customer),
  });
};

beforeEach(() => {
  objects = new Map([[OBJECT, recordWith()]]);
  now = Date.parse("2026-06-01T00:00:00Z");
  limitUnknown = async () => {};
  hints = [];
});

test("a known key identifies the caller", async () =>
  expect(await callerOf(keyring(25_000))).toEqual({ keyId: "abcdef012345", customer: "acme", scopes: ["rank"] }));

test.each([
  ["", "missing_api_key"],
  ["junk", "invalid_api_key"],
  [`${API_KEY.slice(0, -1)}${API_KEY.endsWith("0") ? "1" : "0"}`, "invalid_api_key"],
  [`${API_KEY}\u0000`, "invalid_api_key"],
  [API_KEY.repeat(1000), "invalid_api_key"],
])("%.20s is refused before any read", async (apiKey, code) => {
  await expect(callerOf(keyring(25_000), apiKey)).rejects.toMatchObject({ code });
  expect(reads).toEqual([]);
});
test("an unknown key is remembered as unknown for five seconds, then read again", async () => {
  objects.clear();
  const keys = keyring(25_000);
  await expect(callerOf(keys)).rejects.toMatchObject({ code: "invalid_api_key" });
  objects.set(OBJECT, recordWith());
  now += 4999;
  await expect(callerOf(keys)).rejects.toMatchObject({ code: "invalid_api_key" });
  expect(reads).toEqual([]);
  now += 1;
  expect((await callerOf(keys)).customer).toBe("acme");
});
test("a client that is limited for its unknown keys reads nothing, and a key that the isolate knows is not limited", async () => {
  const keys = keyring(25_000);
  limitUnknown = () => Promise.reject(new Error("limited"));
  await expect(callerOf(keys)).rejects.toThrow("limited");
  expect(reads).toEqual([]);
  limitUnknown = async () => {};
  await callerOf(keys);
  limitUnknown = () => Promise.reject(new Error("limited"));
  for (now += 20_000; now < Date.parse("2026-06-01T00:05:00Z"); now += 20_000)
    expect((await callerOf(keys)).customer).toBe("acme");
});
test("however many unknown keys are tried, a known key is not read again, and repeating an unknown one reads nothing", async () => {
  const keys = keyring(25_000);
  await callerOf(keys);
  const unknown = (i: number) =>
    formatApiKey(Uint8Array.from({ length: 64 }, (_, at) => (at < 4 ? (i >> (4 * at)) % 16 : 61)));
  for (let i = 0; i < 10_500; i += 100)
    await Promise.allSettled(Array.from({ length: 100 }, (_, j) => callerOf(keys, unknown(i + j))));
  expect(reads).toHaveLength(1);
  await expect(callerOf(keys, unknown(10_499))).rejects.toMatchObject({ code: "invalid_api_key" });
  expect(reads).toEqual([]);
  await callerOf(keys);
  expect(reads).toEqual([]);
});
test("an expired key is refused from the second of its expiry on, even if its record is cached", async () => {
  objects.set(OBJECT, recordWith({ expires_at: "2026-06-01T00:00:05Z" }));
  const keys = keyring(25_000);
  await callerOf(keys);
  now += 5000;
  await expect(callerOf(keys)).rejects.toMatchObject({ code: "invalid_api_key" });
});

test("a revoked key stops when its cached record is too old", async () => {
  const keys = keyring(25_000);
  await callerOf(keys);
  objects.set(OBJECT, REVOKED);
  now += 25_000;
  await expect(callerOf(keys)).rejects.toMatchObject({ code: "invalid_api_key" });
});
test("while records cannot be read, a known key goes on working, for less than a minute", async () => {
  const keys = keyring(25_000);
  await callerOf(keys);
  objects.set(OBJECT, broken);
  now += 44_000;
  expect((await callerOf(keys)).customer).toBe("acme");
  now += 2000;
  await expect(callerOf(keys)).rejects.toMatchObject({ code: "artifact_unavailable", retryAfterSeconds: 2 });
});
test("a key that was never read is not accepted while records cannot be read", async () => {
  objects.set(OBJECT, broken);
  await expect(callerOf(keyring(25_000))).rejects.toMatchObject({ code: "artifact_unavailable" });
});
test("a damaged record is unavailable, not invalid", async () => {
  objects.set(OBJECT, '{"format":1}');
  await expect(callerOf(keyring(25_000))).rejects.toMatchObject({ code: "artifact_unavailable" });
});

/** A data centre's cache in memory, with texts. */
const cacheOf = (entries: Map<string, string>): ObjectCache => ({
  read: async (key) => (entries.has(key) ? Uint8Array.from(Buffer.from(entries.get(key)!)) : undefined),
  write: (key, _, bytes) => void entries.set(key, new TextDecoder().decode(bytes)),
  find: async () => undefined,
  fill: () => {},
  remove: (key) => void entries.delete(key),
});
const HINT = OBJECT.replace("keys/", "customer-of-key/").replace(".json", "");
const newIsolate = (entries: Map<string, string>) => callerOf(keyring(25_000, cacheOf(entries)));

test("a key's customer is kept in the data centre's cache, and hinted while a new isolate reads the key", async () => {
  const entries = new Map<string, string>();
  await newIsolate(entries);
  await expect.poll(() => entries.get(HINT)).toBe("acme".padEnd(63));
  expect(hints).toEqual([]);
  await newIsolate(entries);
  expect(hints).toEqual(["acme"]);
});
test("an isolate hints the customer of a key whose record has become stale", async () => {
  const keys = keyring(25_000);
  await callerOf(keys);
  now += 3_600_000;
  await callerOf(keys);
  expect(hints).toEqual(["acme"]);
});
test("a wrong hint and the hint of a revoked key are corrected, and an unknown key leaves none", async () => {
  const entries = new Map([[HINT, "rival".padEnd(63)]]);
  expect((await newIsolate(entries)).customer).toBe("acme");
  await expect.poll(() => entries.get(HINT)).toBe("acme".padEnd(63));
  objects.set(OBJECT, REVOKED);
  await expect(newIsolate(entries)).rejects.toMatchObject({ code: "invalid_api_key" });
  await expect.poll(() => entries.size).toBe(0);
  objects.clear();
  await expect(newIsolate(entries)).rejects.toMatchObject({ code: "invalid_api_key" });
  expect([reads, entries.size]).toEqual([[OBJECT], 0]);
});
test("a likely customer is hinted where the cache names none, and only another one is written there", async () => {
  const entries = new Map<string, string>();
  await callerOf(keyring(25_000, cacheOf(entries), "acme"));
  expect([hints, entries.size]).toEqual([["acme"], 0]);
  objects.set(OBJECT, recordWith({ customer: "rival" }));
  expect((await callerOf(keyring(25_000, cacheOf(entries), "acme"))).customer).toBe("rival");
  await expect.poll(() => entries.get(HINT)).toBe("rival".padEnd(63));
  hints = [];
  await callerOf(keyring(25_000, cacheOf(entries), "acme"));
  expect(hints).toEqual(["rival"]);
});
test.each(["../rival", "", "Rival"])("a hint that is no customer's name (%s) is ignored", async (text) => {
  await newIsolate(new Map([[HINT, text.padEnd(63)]]));
  expect(hints).toEqual([]);
});

test("the error for a missing scope names it and the scopes of the key", () => {
  const caller = { keyId: "k", customer: "acme", scopes: ["rank"] as const };
  requireScope(caller, "rank");
  expect(() => requireScope(caller, "manage")).toThrow("scope manage; this one has rank");
});
