import { expect, test } from "vitest";
import { hashApiKey, isWellFormedApiKey } from "../../../shared/api-key.ts";
import { isKeyValid, KeyRecord, keyRecordKey } from "../../../shared/key-record.ts";
import {
  issueKey,
  type KeyRequest,
  listCustomers,
  listKeys,
  readCustomer,
  revokeKey,
  writeCustomer,
} from "../../../trainer/store/key-store.ts";
import type { ObjectStore } from "../../../trainer/store/object-store.ts";
import { memoryStore } from "../../fixtures/memory-store.ts";

const NOW = Date.UTC(2026, 0, 1);
const request = (customer: string, more: Partial<KeyRequest> = {}): KeyRequest => ({
  customer,
  scopes: ["rank", "manage"],
  expiresAtMs: null,
  nowMs: NOW,
  random: (count) => crypto.getRandomValues(new Uint8Array(count)),
  ...more,
});
const recordOf = async (store: ObjectStore, key: string) => {
  const found = await store.get(keyRecordKey(await hashApiKey(key)));
  return found && KeyRecord.parse(JSON.parse(new TextDecoder().decode(found.bytes)));
};
async function everything(store: ObjectStore): Promise<string> {
  let all = "";
  for await (const { key } of store.list(""))
    all += `${key}\n${new TextDecoder().decode((await store.get(key))!.bytes)}\n`;
  return all;
}

test("an issued key is found by its digest and is not stored itself", async () => {
  const store = memoryStore();
  const { key, record } = await issueKey(store, request("acme", { scopes: ["rank"], expiresAtMs: NOW + 1000 }));
  expect(isWellFormedApiKey(key)).toBe(true);
  expect(await recordOf(store, key)).toEqual(record);
  expect(record).toMatchObject({ customer: "acme", scopes: ["rank"], expires_at: "2026-01-01T00:00:01.000Z" });
  expect(isKeyValid(record, NOW + 999)).toBe(true);
  expect(isKeyValid(record, NOW + 1000)).toBe(false);
  expect(await everything(store)).not.toContain(key.slice(3, 20));
});

test("keys are listed by customer", async () => {
  const store = memoryStore();
  const issued = [await issueKey(store, request("acme")), await issueKey(store, request("acme"))];
  await issueKey(store, request("acme-eu"));
  const ids = issued.map(({ record }) => record.key_id).sort();
  expect((await listKeys(store, "acme")).map((record) => record.key_id)).toEqual(ids);
  expect(await listKeys(store, "nobody")).toEqual([]);
  expect(await listCustomers(store)).toEqual(["acme", "acme-eu"]);
});

test("revoking a key again does not change the time of its revocation", async () => {
  const store = memoryStore();
  const { key, record } = await issueKey(store, request("acme"));
  const other = await issueKey(store, request("acme"));
  await revokeKey(store, { keyId: record.key_id, nowMs: NOW + 5 });
  await revokeKey(store, { keyId: record.key_id, nowMs: NOW + 9 });
  const revoked = (await recordOf(store, key))!;
  expect(revoked.revoked_at).toBe("2026-01-01T00:00:00.005Z");
  expect(isKeyValid(revoked, NOW + 6)).toBe(false);
  expect(isKeyValid((await recordOf(store, other.key))!, NOW + 6)).toBe(true);
  expect(await revokeKey(store, { keyId: "0123456789ab", nowMs: NOW })).toBeUndefined();
});

test.each(["keys/", "customers/"])(
  "an issuing that crashed at %s leaves no key that could be used unseen",
  async (prefix) => {
    const store = memoryStore();
    const failing: ObjectStore = {
      ...store,
      swap: (key, ...rest) => (key.startsWith(prefix) ? Promise.reject(new Error("cut")) : store.swap(key, ...rest)),
    };
    await expect(issueKey(failing, request("acme"))).rejects.toThrow("cut");
    expect(await listKeys(store, "acme")).toEqual([]);
    expect(await everything(store)).not.toContain('"scopes"');
  },
);

test("an invalid customer name is refused before anything is stored", async () => {
  const store = memoryStore();
  await expect(issueKey(store, request("../acme"))).rejects.toThrow("must match");
  expect(await everything(store)).toBe("");
});

test("a customer's service account is stored and can be changed", async () => {
  const store = memoryStore();
  expect(await readCustomer(store, "acme")).toBeUndefined();
  for (const service_account of ["a@p.iam.gserviceaccount.com", "b@p.iam.gserviceaccount.com", null]) {
    await writeCustomer(store, { format: 1, customer: "acme", service_account });
    expect(await readCustomer(store, "acme")).toMatchObject({ service_account });
  }
});

test("the error of a damaged record names it", async () => {
  const store = memoryStore();
  await store.putIfAbsent("customers/acme.json", new TextEncoder().encode("{"), "x");
  await expect(readCustomer(store, "acme")).rejects.toThrow("customers/acme.json is not what it should be");
});
