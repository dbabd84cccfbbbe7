import { FormatError } from "../../shared/assert.ts";
import {
  decodeErasedUsers,
  ERASED_BYTES_MAX,
  ERASED_WITHIN_SECONDS,
  type ErasedUsers,
  erasedUsersKey,
  isErased,
} from "../../shared/erased-users.ts";
import type { UserId } from "../../shared/ids.ts";
import type { ReadAccess } from "../reading/artifact-reader.ts";
import { refreshedCache } from "../reading/refreshed-cache.ts";
import { READ_LOCK_MS } from "../reading/waiting.ts";

/** The customers' lists of erased users. */
export type ErasedLists = {
  /** Begins to read the customer's list if `isErased` would have to. A failure is thrown by `isErased`. */
  prefetch(customer: string, access: ReadAccess): void;
  /** Whether the customer has erased this user. Throws ReadError or FormatError if that is unknown. */
  isErased(customer: string, user: UserId, access: ReadAccess): Promise<boolean>;
  /** The next call for this customer reads the list again. */
  invalidate(customer: string, nowMs: number): void;
};

const LISTS_MAX = 5000;
const BYTES_MAX = 2 * ERASED_BYTES_MAX;
const KEPT_MS = ERASED_WITHIN_SECONDS * 1000;

/** A null etag says that the customer has no list. */
type CachedList = { readonly etag: string; readonly list: ErasedUsers } | { readonly etag: null };

/**
 * Caches each customer's list. A list is refreshed after `cacheMs`, used for at most twice that time, and never beyond the promised time
 * for an erasure, whatever fails. A list that has not changed is not transferred again.
 */
export function erasedLists(cacheMs: number): ErasedLists {
  const cache = refreshedCache<CachedList>(
    {
      freshMs: cacheMs,
      servableMs: Math.min(2 * cacheMs, KEPT_MS),
      keptMs: KEPT_MS,
      absentMs: 0,
      readLockMs: READ_LOCK_MS, // a list may have megabytes
    },
    LISTS_MAX,
    { of: (cached) => (cached.etag === null ? 0 : cached.list.high.length * 8), max: BYTES_MAX },
  );
  const listOf = async (customer: string, access: ReadAccess): Promise<CachedList> => {
    const key = erasedUsersKey(customer);
    const read = async (known: CachedList | undefined): Promise<CachedList> => {
      const found = await access.reader.changed(key, { etag: known?.etag ?? null, bytesMax: ERASED_BYTES_MAX });
      if (found === "same") return known!;
      if (found !== undefined) return { etag: found.etag, list: decodeErasedUsers(found.bytes) };
      if (!known || known.etag === null) return { etag: null };
      throw new FormatError(`${key}: expected the list that was there before, found no such object`);
    };
    return (await cache.get(key, read, access))!;
  };
  return {
    prefetch: (customer, access) => void listOf(customer, access).catch(() => undefined),
    async isErased(customer, user, access) {
      const cached = await listOf(customer, access);
      return cached.etag !== null && (await isErased(cached.list, user));
    },
    invalidate: (customer, nowMs) => cache.invalidate(erasedUsersKey(customer), nowMs),
  };
}
