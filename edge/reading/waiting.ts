/** Bounded waits. When several requests want one value, one of them reads it and the others poll. */

/** The parts of a request's context that work in the background needs: the clock, and the Workers runtime's `waitUntil`. */
export type RequestAccess = { readonly nowMs: () => number; readonly waitUntil: (work: Promise<unknown>) => void };

/** Work outside the isolate took too long. */
export class DeadlineError extends Error {
  override readonly name = "DeadlineError";
}

/** The value of `work`, or DeadlineError after `ms` milliseconds. The work itself is not stopped, and its result is then ignored. */
export async function within<T>(ms: number, what: string, work: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new DeadlineError(`${what} took longer than ${ms} ms`)), ms);
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

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

type SharedRead<Value> = {
  /** The value, if it has been read meanwhile. */
  readonly find: () => { readonly value: Value } | undefined;
  readonly tryLock: (nowMs: number) => boolean;
  /** Reads the value and releases the lock. */
  readonly read: () => Promise<Value>;
  /** The longest time to poll before reading without the lock. */
  readonly waitMs: number;
};

/**
 * What `find` finds or, for a caller that holds the lock or has waited too long, what `read` returns. Nobody awaits the promise of
 * another request: workerd hangs a request that does so once the other one ends.
 */
export async function findOrRead<Value>(
  { find, tryLock, read, waitMs }: SharedRead<Value>,
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
