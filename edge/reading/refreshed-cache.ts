import { createReadLocks, findOrRead, type RequestAccess } from "./waiting.ts";

/** Ages in milliseconds since the value was read. Each is at least as large as the one before. */
export type Freshness = {
  /** A younger value is fresh: it is returned as it is. */
  readonly freshMs: number;
  /** A younger value is returned as it is, and refreshed in the background. For an older value, the request waits for a new one. */
  readonly servableMs: number;
  /** A younger value is returned if a new one cannot be read. For an older value, the failure is thrown. */
  readonly keptMs: number;
  /** The only age that counts if the read found nothing (undefined). */
  readonly absentMs: number;
  /**
   * If set, one request at a time reads a missing value, and others poll for this time before they read it themselves. Without it, all
   * read at once, which is best for small values.
   */
  readonly readLockMs?: number;
};

export type RefreshedCache<Value> = {
  /** @param read Receives the cached value, if there is one. */
  get(
    key: string,
    read: (known: Value | undefined) => Promise<Value | undefined>,
    access: RequestAccess,
  ): Promise<Value | undefined>;
  /** From now on, values read before this time are not returned, nor those whose read is under way. */
  invalidate(key: string, nowMs: number): void;
};

/** A limit on the total size of the values. The value that was read last stays, however large it is. */
export type ValueBytes<Value> = { readonly of: (value: Value) => number; readonly max: number };

type Entry<Value> = {
  value: Value | undefined;
  readAtMs: number;
  /** Before this time no other refresh is tried, if the value may be used meanwhile. */
  retryAtMs: number;
  /** The last refresh that ended failed. A value beyond `servableMs` may only be used after such a failure, since it may be deleted. */
  hasFailed?: true;
  /** The value must not be returned: only a read that starts after `readAtMs` counts. */
  isInvalid?: true;
};

const RETRY_MS = 1000;
/** Clock steps backwards up to this size are tolerated. They make values a little older than they seem. */
const CLOCK_STEP_MS_MAX = 1000;

/**
 * A cache of values that may be a little old. It holds values, never promises, since a request must not await another request's promise:
 * requests that miss at the same time read at the same time, or poll.
 */
export function refreshedCache<Value>(
  freshness: Freshness,
  entriesMax: number,
  bytes?: ValueBytes<Value>,
): RefreshedCache<Value> {
  const entries = new Map<string, Entry<Value>>(); // least recently read first

  let usedBytes = 0;
  const bytesOf = (value: Value | undefined) => (value === undefined ? 0 : (bytes?.of(value) ?? 0));

  const drop = (key: string) => {
    usedBytes -= bytesOf(entries.get(key)?.value);
    entries.delete(key);
  };
  const put = (key: string, entry: Entry<Value>) => {
    drop(key);
    entries.set(key, entry);
    usedBytes += bytesOf(entry.value);
    while (entries.size > entriesMax || (usedBytes > (bytes?.max ?? Infinity) && entries.size > 1))
      drop(entries.keys().next().value!);
  };

  const entryAt = (key: string, nowMs: number) => {
    // A value from the future would seem fresh for too long.
    if ((entries.get(key)?.readAtMs ?? 0) > nowMs + CLOCK_STEP_MS_MAX) drop(key);
    return entries.get(key);
  };
  const store = (key: string, value: Value | undefined, readAtMs: number) => {
    const current = entries.get(key);
    if (current && current.readAtMs > readAtMs) return; // a slower read that began earlier must not win
    if (current?.isInvalid && current.readAtMs === readAtMs) return;
    put(key, { value, readAtMs, retryAtMs: 0 });
  };

  type Read = (known: Value | undefined) => Promise<Value | undefined>;
  const refresh = async (key: string, read: Read, { nowMs }: RequestAccess) => {
    const startedMs = nowMs(); // the value is at least as new as this
    const value = await read(entries.get(key)?.value);
    store(key, value, startedMs);
    return value;
  };

  const locks = createReadLocks(freshness.readLockMs ?? 0);
  const servable = (key: string, nowMs: number) => {
    const entry = entries.get(key);
    if (!entry || entry.isInvalid || nowMs - entry.readAtMs >= freshness.servableMs) return undefined;
    return entry.value === undefined ? undefined : { value: entry.value };
  };
  /** Reads a value that is missing or too old, by one request at a time if locks are used. */
  const readMissing = async (key: string, read: Read, access: RequestAccess) => {
    const waitMs = freshness.readLockMs;
    if (waitMs === undefined) return refresh(key, read, access);
    const find = () => servable(key, access.nowMs());
    const tryLock = (nowMs: number) => locks.tryLock(key, nowMs);
    const readLocked = () => refresh(key, read, access).finally(() => locks.unlock(key));
    return findOrRead({ find, tryLock, read: readLocked, waitMs }, access);
  };

  return {
    async get(key, read, access) {
      const now = access.nowMs();
      const entry = entryAt(key, now);
      const age = entry ? now - entry.readAtMs : Infinity;
      if (!entry || entry.isInvalid) return readMissing(key, read, access);
      if (entry.value === undefined && age >= freshness.absentMs) return readMissing(key, read, access);
      if (age < (entry.value === undefined ? freshness.absentMs : freshness.freshMs)) return entry.value;
      const mayWait = age < freshness.servableMs || (entry.hasFailed && age < freshness.keptMs);
      if (mayWait && now < entry.retryAtMs) return entry.value;
      entry.retryAtMs = now + RETRY_MS;
      const markFailed = () => {
        entry.hasFailed = true;
      };
      if (age < freshness.servableMs) {
        access.waitUntil(refresh(key, read, access).catch(markFailed)); // a later request retries
        return entry.value;
      }
      try {
        return await readMissing(key, read, access);
      } catch (error) {
        markFailed();
        if (access.nowMs() - entry.readAtMs < freshness.keptMs) return entry.value;
        throw error;
      }
    },
    invalidate(key, nowMs) {
      const value = entries.get(key)?.value; // stays for the next read, which receives it
      put(key, { value, readAtMs: nowMs, retryAtMs: 0, isInvalid: true });
    },
  };
}
