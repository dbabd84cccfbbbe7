import { randomBytes } from "node:crypto";
import { hashApiKey } from "../../shared/api-key.ts";
import { isKeyValid, KeyRecord, keyRecordKey } from "../../shared/key-record.ts";
import { issueKey } from "../store/key-store.ts";
import type { ObjectStore } from "../store/object-store.ts";
import { LOCAL_CUSTOMER } from "./local-state.ts";

/** The given key if the bucket knows it as valid, else a new one of the customer `local` with both scopes. */
export async function ensureLocalKey(
  store: ObjectStore,
  { apiKey, nowMs }: { readonly apiKey: string | null; readonly nowMs: number },
): Promise<string> {
  if (apiKey !== null) {
    const found = await store.get(keyRecordKey(await hashApiKey(apiKey)));
    const record = found && KeyRecord.safeParse(JSON.parse(new TextDecoder().decode(found.bytes)));
    if (record?.success && isKeyValid(record.data, nowMs)) return apiKey;
  }
  const scopes = ["rank", "manage"] as const;
  const random = (count: number) => randomBytes(count);
  return (await issueKey(store, { customer: LOCAL_CUSTOMER, scopes, expiresAtMs: null, nowMs, random })).key;
}
