/**
 * When several requests want the same value at once, one of them reads it and the others poll until it is there. They never await the
 * reader's promise: workerd hangs a request that awaits a promise of another request once that one ends.
 */
import { sleep } from "./deadline.ts";
import type { RequestAccess } from "./request-access.ts";

/** Locks by key, so that one request at a time reads a value. */
export type ReadLocks = {
  /** Whether the caller now holds the lock and must read. */
  tryLock(key: string, nowMs: number): boolean;
  /** Called when the read has ended, successfully or not. */
  unlock(key: string): void;
};

/** A lock ends after this time, and others stop waiting for its holder. */
export const READ_LOCK_MS = 1000;
const POLL_MS = 3;

/** @param ttlMs A lock that is not released ends after this time: the client of its holder may have disconnected. */
export function createReadLocks(ttlMs: number): ReadLocks {
  const untilMs = new Map<string, number>();
  return {
    tryLock(key, nowMs) {
      if ((untilMs.get(key) ?? 0) > nowMs) return false;
      for (const [other, endMs] of untilMs) if (endMs <= nowMs) untilMs.delete(other);
      untilMs.set(key, nowMs + ttlMs);
      return true;
    },
    unlock: (key) => void untilMs.delete(key),
  };
}

type Flight<Value> = {
  /** The value, if it has been read meanwhile. */
  readonly find: () => { readonly value: Value } | undefined;
  readonly tryLock: (nowMs: number) => boolean;
  /** Reads the value and releases the lock. */
  readonly read: () => Promise<Value>;
  /** The longest time to poll before reading without the lock. */
  readonly waitMs: number;
};

/** What `find` finds or, for a caller that holds the lock or has waited too long, what `read` returns. */
export async function findOrRead<Value>(
  { find, tryLock, read, waitMs }: Flight<Value>,
  access: RequestAccess,
): Promise<Value> {
  for (const untilMs = access.nowMs() + waitMs; ; await sleep(POLL_MS)) {
    const found = find();
    if (found) return found.value;
    if (tryLock(access.nowMs()) || access.nowMs() >= untilMs) break;
  }
  const reading = read();
  access.waitUntil(reading.catch(() => undefined)); // others wait for the value even if this client disconnects
  return reading;
}
