/**
 * API keys in the bucket:
 *
 *     keys/{sha256 of the key, hex}.json         the record that an edge reads (shared/key-record.ts)
 *     customers/{customer}/keys/{key_id}.json    its digest, for listing and revoking
 *     customers/{customer}.json                  the customer's settings by the operator
 *
 * The key itself is returned once and stored nowhere.
 */
import * as z from "zod";
import { formatApiKey, hashApiKey } from "../../shared/api-key.ts";
import { CustomerId, KeyRecord, keyRecordKey, type Scope } from "../../shared/key-record.ts";
import { changeObject, type ObjectStore, StoreError, storedJson } from "./object-store.ts";

export type KeyRequest = {
  readonly customer: string;
  readonly scopes: readonly Scope[];
  /** Null: never. */
  readonly expiresAtMs: number | null;
  /** For a key that web pages contain: their origins, and whether their user ids are signed. */
  readonly webPages?: { readonly origins: readonly string[]; readonly signsUsers: boolean } | undefined;
  readonly nowMs: number;
  /** Cryptographically random bytes. */
  readonly random: (count: number) => Uint8Array;
};

export type IssuedKey = { readonly key: string; readonly record: KeyRecord };

const CustomerRecord = z.strictObject({
  format: z.literal(1),
  customer: CustomerId,
  /** The identity that reads this customer's warehouse; null until the operator has made one. */
  service_account: z.email().nullable(),
});
export type CustomerRecord = z.infer<typeof CustomerRecord>;

const KeyReference = z.strictObject({ format: z.literal(1), sha256: z.string().regex(/^[0-9a-f]{64}$/) });

const KEY_ID_BYTES = 6;

/** Issues a key. The reference is written before the record, so that every valid key can be found by its id and revoked. */
export async function issueKey(store: ObjectStore, request: KeyRequest): Promise<IssuedKey> {
  const key = formatApiKey(request.random(128));
  const record: KeyRecord = KeyRecord.parse({
    format: 1,
    key_id: Buffer.from(request.random(KEY_ID_BYTES)).toString("hex"),
    customer: request.customer,
    scopes: [...request.scopes],
    created_at: new Date(request.nowMs).toISOString(),
    expires_at: request.expiresAtMs === null ? null : new Date(request.expiresAtMs).toISOString(),
    revoked_at: null,
    ...(request.webPages && { origins: [...request.webPages.origins] }),
    ...(request.webPages?.signsUsers && { user_secret: Buffer.from(request.random(32)).toString("hex") }),
  });
  const sha256 = await hashApiKey(key);
  const reference: z.infer<typeof KeyReference> = { format: 1, sha256 };
  await create(store, keyReferenceKey(request.customer, record.key_id), reference);
  await create(store, keyRecordKey(sha256), record);
  return { key, record };
}

/** Every key ever issued to a customer, by key id. */
export const listKeys = (store: ObjectStore, customer: string): Promise<KeyRecord[]> =>
  Array.fromAsync(keysOf(store, customer));

/** As `listKeys`, one after the other. */
export async function* keysOf(store: ObjectStore, customer: string): AsyncGenerator<KeyRecord> {
  for await (const { key } of store.list(`customers/${customer}/keys/`)) {
    const reference = await read(store, key, KeyReference);
    const record = reference && (await read(store, keyRecordKey(reference.sha256), KeyRecord));
    if (record) yield record;
  }
}

/** Names of the customers that have a key or a record, in order. */
export async function listCustomers(store: ObjectStore): Promise<string[]> {
  const names = new Set<string>();
  for await (const { key } of store.list("customers/")) names.add(key.split("/")[1]!.replace(/\.json$/, ""));
  return [...names].sort();
}

/**
 * Revokes a key; edges notice within a minute. Returns its record, or undefined when no customer has such a key. A key that is
 * already revoked keeps its first time.
 */
export async function revokeKey(
  store: ObjectStore,
  { keyId, nowMs }: { readonly keyId: string; readonly nowMs: number },
): Promise<KeyRecord | undefined> {
  for (const customer of await listCustomers(store)) {
    const reference = await read(store, keyReferenceKey(customer, keyId), KeyReference);
    if (reference) return revokeAt(store, keyRecordKey(reference.sha256), nowMs);
  }
  return undefined;
}

/** The customer's record; undefined when there is none. */
export async function readCustomer(store: ObjectStore, customer: string): Promise<CustomerRecord | undefined> {
  return read(store, customerKey(customer), CustomerRecord);
}

/** Stores the customer's record. */
export const writeCustomer = (store: ObjectStore, record: CustomerRecord): Promise<void> =>
  changeObject(store, customerKey(record.customer), () => bytesOf(CustomerRecord.parse(record)));

/** Undefined when there is no record: issuing the key crashed half-way, so nobody has it. */
async function revokeAt(store: ObjectStore, key: string, nowMs: number): Promise<KeyRecord | undefined> {
  let record: KeyRecord | undefined;
  await changeObject(store, key, (found) => {
    record = found && parse(key, found.bytes, KeyRecord);
    if (record === undefined || record.revoked_at !== null) return undefined;
    record = { ...record, revoked_at: new Date(nowMs).toISOString() };
    return bytesOf(record);
  });
  return record;
}

async function create(store: ObjectStore, key: string, value: unknown): Promise<void> {
  if ((await store.swap(key, bytesOf(value), null)) === undefined) throw new StoreError(`${key} exists already.`);
}

async function read<Schema extends z.ZodType>(
  store: ObjectStore,
  key: string,
  schema: Schema,
): Promise<z.infer<Schema> | undefined> {
  const found = await store.get(key);
  return found && parse(key, found.bytes, schema);
}

function parse<Schema extends z.ZodType>(key: string, bytes: Uint8Array, schema: Schema): z.infer<Schema> {
  const parsed = schema.safeParse(storedJson(bytes));
  if (parsed.success) return parsed.data;
  throw new StoreError(`${key} is not what it should be: ${parsed.error.issues[0]?.message}. Delete it to give it up.`);
}

const keyReferenceKey = (customer: string, keyId: string) => `customers/${customer}/keys/${keyId}.json`;
const customerKey = (customer: string) => `customers/${customer}.json`;
const bytesOf = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
