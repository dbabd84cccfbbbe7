import { expect, test } from "vitest";
import { ensureLocalKey } from "../../../trainer/local/local-key.ts";
import { listKeys, revokeKey } from "../../../trainer/store/key-store.ts";
import { memoryStore } from "../../../trainer/store/memory-store.ts";

test("a key is issued once and kept, until it is revoked or its bucket is gone", async () => {
  const store = memoryStore();
  const key = await ensureLocalKey(store, { apiKey: null, nowMs: 1 });
  expect(await ensureLocalKey(store, { apiKey: key, nowMs: 2 })).toBe(key);
  expect(await ensureLocalKey(memoryStore(), { apiKey: key, nowMs: 2 })).not.toBe(key);
  const [record] = await listKeys(store, "local");
  expect(record!.scopes).toEqual(["rank", "manage"]);
  await revokeKey(store, { keyId: record!.key_id, nowMs: 3 });
  expect(await ensureLocalKey(store, { apiKey: key, nowMs: 4 })).not.toBe(key);
});
