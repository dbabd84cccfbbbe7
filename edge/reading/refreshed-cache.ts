import { createClaims, lookOrRead } from "./claims.ts";
import type { RequestAccess } from "./request-access.ts";

/** Ages in milliseconds since the value was read; each at least the one before. */
export type Freshness = {
  /** Younger: used as it is. */
  readonly freshMs: number;
  /** Younger: used as it is, while a new one is read behind the request's back. Older: a new one is read first. */
  readonly servableMs: number;
  /** Younger: used when a new one cannot be read. Older: the failure is the answer. */
  readonly keptMs: number;
  /** The only age that counts for an absent value (undefined). */
  readonly absentMs: number;
  /**
   * While one request reads what is not known, others look for so long whether it has come before they read it themselves;
   * absent: all read at once, which is well for small values.
   */
  readonly claimMs?: number;
};

export type RefreshedCache<Value> = {
  /** @param read Is told the value that is known, if there is one. */
  get(
    key: string,
    read: (known: Value | undefined) => Promise<Value | undefined>,
    access: RequestAccess,
  ): Promise<Value | undefined>;
  /** Whatever was read before this time is not used any more, nor what is being read now. */
  forget(key: string, nowMs: number): void;
};

/** A limit on the values together. The value that was read last stays, however large. */
export type ValueBytes<Value> = { readonly of: (value: Value) => number; readonly max: number };

type Entry<Value> = {
  value: Value | undefined;
  readAtMs: number;
  /** No other attempt before, where the value may be used meanwhile. */
  retryAtMs: number;
  /** The last attempt that ended failed. While one only runs, what is too old is not used: the value may be gone. */
  hasFailed?: true;
  /** The value is not to be used: only what is read after `readAtMs` counts. */
  isForgotten?: true;
};

const RETRY_MS = 1000;
/** A clock that steps back by less makes values a little older than they seem. */
const STEP_MS = 1000;

/**
 * Values that are read from elsewhere and may be a little old. Holds values, never promises: a request must not await
 * another request's promise, so requests that miss at the same time read at the same time, or look again.
 */
export function refreshedCache<Value>(
  freshness: Freshness,
  entriesMax: number,
  bytes?: ValueBytes<Value>,
): RefreshedCache<Value> {
  const entries = new Map<string, Entry<Value>>(); // least recently read first

  let bytesKept = 0;
  const bytesOf = (value: Value | undefined) => (value === undefined ? 0 : (bytes?.of(value) ?? 0));

  const drop = (key: string) => {
    bytesKept -= bytesOf(entries.get(key)?.value);
    entries.delete(key);
  };
  const put = (key: string, entry: Entry<Value>) => {
    drop(key);
    entries.set(key, entry);
    bytesKept += bytesOf(entry.value);
    while (entries.size > entriesMax || (bytesKept > (bytes?.max ?? Infinity) && entries.size > 1))
      drop(entries.keys().next().value!);
  };

  const entryAt = (key: string, nowMs: number) => {
    if ((entries.get(key)?.readAtMs ?? 0) > nowMs + STEP_MS) drop(key); // it would be young for long
    return entries.get(key);
  };
  const store = (key: string, value: Value | undefined, readAtMs: number) => {
    const newer = entries.get(key);
    if (newer && newer.readAtMs > readAtMs) return; // a slower read that began before must not win
    if (newer?.isForgotten && newer.readAtMs === readAtMs) return;
    put(key, { value, readAtMs, retryAtMs: 0 });
  };

  type Read = (known: Value | undefined) => Promise<Value | undefined>;
  const refresh = async (key: string, read: Read, { nowMs }: RequestAccess) => {
    const startedMs = nowMs(); // what is read is at least as new as this
    const value = await read(entries.get(key)?.value);
    store(key, value, startedMs);
    return value;
  };

  const claims = createClaims(freshness.claimMs ?? 0);
  const known = (key: string, nowMs: number) => {
    const entry = entries.get(key);
    if (!entry || entry.isForgotten || nowMs - entry.readAtMs >= freshness.servableMs) return undefined;
    return entry.value === undefined ? undefined : { value: entry.value };
  };
  /** What is not known. */
  const first = async (key: string, read: Read, access: RequestAccess) => {
    const waitMs = freshness.claimMs;
    if (waitMs === undefined) return refresh(key, read, access);
    const look = () => known(key, access.nowMs());
    const claim = (nowMs: number) => claims.take(key, nowMs);
    const readClaimed = () => refresh(key, read, access).finally(() => claims.release(key));
    return lookOrRead({ look, claim, read: readClaimed, waitMs }, access);
  };

  return {
    async get(key, read, access) {
      const now = access.nowMs();
      const entry = entryAt(key, now);
      const age = entry ? now - entry.readAtMs : Infinity;
      if (!entry || entry.isForgotten) return first(key, read, access);
      if (entry.value === undefined && age >= freshness.absentMs) return first(key, read, access);
      if (age < (entry.value === undefined ? freshness.absentMs : freshness.freshMs)) return entry.value;
      const mayWait = age < freshness.servableMs || (entry.hasFailed && age < freshness.keptMs);
      if (mayWait && now < entry.retryAtMs) return entry.value;
      entry.retryAtMs = now + RETRY_MS;
      const fails = () => {
        entry.hasFailed = true;
      };
      if (age < freshness.servableMs) {
        access.waitUntil(refresh(key, read, access).catch(fails)); // tried again by a later request
        return entry.value;
      }
      try {
        return await first(key, read, access);
      } catch (error) {
        fails();
        if (access.nowMs() - entry.readAtMs < freshness.keptMs) return entry.value;
        throw error;
      }
    },
    forget(key, nowMs) {
      const value = entries.get(key)?.value; // for who reads it anew
      put(key, { value, readAtMs: nowMs, retryAtMs: 0, isForgotten: true });
    },
  };
}
