import { hashApiKey, isWellFormedApiKey } from "../shared/api-key.ts";
import { CustomerId, hasScope, isKeyValid, KeyRecord, keyRecordKey, type Scope } from "../shared/key-record.ts";
import { Problem } from "../shared/problem.ts";
import { type ReadAccess, unreadableAs } from "./reading/artifact-reader.ts";
import type { ObjectCache } from "./reading/cached-objects.ts";
import { refreshedCache } from "./reading/refreshed-cache.ts";

/** The caller, as the key record names it. */
export type Caller = {
  readonly keyId: string;
  readonly customer: string;
  readonly scopes: readonly Scope[];
  /** The origins whose web pages contain the key. */
  readonly origins?: readonly string[] | undefined;
  /** The key of the HMACs that user ids must be sent with. */
  readonly userSecret?: string | undefined;
};

export type KeyAccess = ReadAccess & {
  /** Called before the record of an unknown key is read. Throws Problem when the client has tried too many. */
  readonly limitUnknown: () => Promise<void>;
  /**
   * Called while the key's record is read, with the customer that the key had before. It may be wrong, and the key may be revoked: nothing
   * that is read for this customer may be shown before `callerOf` returns the same one.
   */
  readonly onHint: (customer: string) => void;
};

export type Keyring = {
  /** Throws Problem missing_api_key, invalid_api_key and artifact_unavailable, and what `limitUnknown` throws. */
  callerOf(apiKey: string | undefined, access: KeyAccess): Promise<Caller>;
};

const KEYS_MAX = 10_000;
/** Keys that were never issued are remembered, so that repeating one costs nothing, and apart, so that they evict no issued key. */
const UNKNOWN_KEYS_MAX = 1000;
const HASHES_MAX = 1000;
const UNKNOWN_MS = 5000;
/** Largest age of a record while R2 fails. With the longest read that follows, a revoked key still stops within a minute. */
const KEPT_MS = 45_000;
const UNREADABLE = unreadableAs("artifact_unavailable", "API keys cannot be read right now");
/** One sentence for missing and invalid keys, so that the answers differ in nothing but the code. */
const DETAIL = "Send a valid API key in the header x-api-key.";

/**
 * The API keys that this isolate knows. A malformed key is refused without I/O. A key's record is at most `cacheMs` old, or 45 s
 * while R2 cannot be read.
 * @param likelyCustomer The customer of a key of which nothing is known yet, as a guess.
 */
export function keyring(cacheMs: number, cache?: ObjectCache, likelyCustomer?: string): Keyring {
  const hints = customerHints(cache, likelyCustomer);
  const hashes = new Map<string, string>(); // by valid key: checksum and hash would take a twentieth of a rank call
  const unknownUntilMs = new Map<string, number>(); // by key, the oldest first
  const records = refreshedCache<KeyRecord>(
    { freshMs: cacheMs * 0.6, servableMs: cacheMs, keptMs: KEPT_MS, absentMs: 0 },
    KEYS_MAX,
  );
  const rememberHash = (apiKey: string, hash: string) => {
    if (hashes.size >= HASHES_MAX) hashes.clear();
    hashes.set(apiKey, hash);
  };
  const rememberUnknown = (key: string, nowMs: number) => {
    unknownUntilMs.delete(key);
    unknownUntilMs.set(key, nowMs + Math.min(cacheMs, UNKNOWN_MS));
    if (unknownUntilMs.size > UNKNOWN_KEYS_MAX) unknownUntilMs.delete(unknownUntilMs.keys().next().value!);
  };
  return {
    async callerOf(apiKey, access) {
      if (apiKey === undefined || apiKey === "") throw new Problem("missing_api_key", DETAIL);
      const knownHash = hashes.get(apiKey);
      if (knownHash === undefined && !isWellFormedApiKey(apiKey)) throw new Problem("invalid_api_key", DETAIL);
      const hash = knownHash ?? (await hashApiKey(apiKey));
      const key = keyRecordKey(hash);
      if ((unknownUntilMs.get(key) ?? 0) > access.nowMs()) throw new Problem("invalid_api_key", DETAIL);
      const read = async (known: KeyRecord | undefined) => {
        if (known === undefined) await access.limitUnknown();
        let isReading = true;
        const reading = access.reader.json(key, KeyRecord).finally(() => {
          isReading = false;
        });
        const hinting = hints.customerOf(hash, known, access.nowMs()).then((customer) => {
          if (customer !== undefined && isReading) access.onHint(customer);
          return customer;
        });
        const record = await reading;
        const customer = record && isKeyValid(record, access.nowMs()) ? record.customer : undefined;
        access.waitUntil(hinting.then((hint) => hint !== customer && hints.update(hash, customer)));
        if (record !== undefined) return record;
        rememberUnknown(key, access.nowMs());
        throw new Problem("invalid_api_key", DETAIL); // a value that is absent would take a place in the cache
      };
      const record = (await records.get(key, read, access).catch(UNREADABLE))!;
      if (!isKeyValid(record, access.nowMs())) throw new Problem("invalid_api_key", DETAIL);
      if (knownHash === undefined) rememberHash(apiKey, hash);
      const { key_id, customer, scopes, origins, user_secret } = record;
      return { keyId: key_id, customer, scopes, origins, userSecret: user_secret };
    },
  };
}

/** A customer's name has at most this many bytes. Shorter names are padded, so that all entries have one length. */
const HINT = { offset: 0, length: 63 };

/**
 * Which customer a key belongs to, as far as that is known without reading R2: a key never changes its customer. An isolate knows it from
 * the last record of the key, however old, and a new isolate from the data centre's cache. Where that has nothing, it guesses.
 */
function customerHints(cache: ObjectCache | undefined, likelyCustomer: string | undefined) {
  const entryOf = (hash: string) => `customer-of-key/${hash}`;
  return {
    async customerOf(hash: string, known: KeyRecord | undefined, nowMs: number): Promise<string | undefined> {
      if (known) return isKeyValid(known, nowMs) ? known.customer : undefined;
      const bytes = await cache?.read(entryOf(hash), HINT);
      const cached = CustomerId.safeParse(bytes && new TextDecoder().decode(bytes).trimEnd());
      return cached.data ?? likelyCustomer;
    },
    update(hash: string, customer: string | undefined): void {
      if (customer === undefined) cache?.remove(entryOf(hash), HINT);
      else cache?.write(entryOf(hash), HINT, new TextEncoder().encode(customer.padEnd(HINT.length)));
    },
  };
}

/** Throws Problem insufficient_scope. */
export function requireScope(caller: Caller, scope: Scope): void {
  if (hasScope(caller.scopes, scope)) return;
  const detail = `This call needs an API key with the scope ${scope}; this one has ${caller.scopes.join(", ")}.`;
  throw new Problem("insufficient_scope", detail);
}
