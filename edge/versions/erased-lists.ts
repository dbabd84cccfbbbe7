import { FormatError } from "../../shared/assert.ts";
import {
  decodeErasedUsers,
  ERASED_BYTES_MAX,
  ERASED_WITHIN_SECONDS,
  erasedUsersKey,
  isErased,
} from "../../shared/erased-users.ts";
import type { UserId } from "../../shared/ids.ts";
import type { ArtifactReader } from "../reading/artifact-reader.ts";
import { CLAIM_MS } from "../reading/claims.ts";
import { refreshedCache } from "../reading/refreshed-cache.ts";
import type { RequestAccess } from "../reading/request-access.ts";

type ReadAccess = RequestAccess & { readonly reader: ArtifactReader };

export type ErasedLists = {
  /** Looks at the customer's list as `has` would, so that `has` need not wait for it. Throws as `has`. */
  look(customer: string, access: ReadAccess): Promise<void>;
  /** Whether the customer has had this user erased. Throws ReadError, FormatError: then it cannot be told. */
  has(customer: string, user: UserId, access: ReadAccess): Promise<boolean>;
  /** From now on this isolate reads the customer's list anew. */
  forget(customer: string, nowMs: number): void;
};

const LISTS_MAX = 5000;
const BYTES_MAX = 2 * ERASED_BYTES_MAX;
const KEPT_MS = ERASED_WITHIN_SECONDS * 1000;

type Kept = { readonly etag: string; readonly list: ReturnType<typeof decodeErasedUsers> } | { readonly etag: null };

/**
 * What this isolate knows of erased users: each customer's list at most every `cacheMs` looked at, at most twice as old,
 * and never older than what was promised, whatever fails. A list that has not changed is not sent again.
 */
export function erasedLists(cacheMs: number): ErasedLists {
  const cache = refreshedCache<Kept>(
    {
      freshMs: cacheMs,
      servableMs: Math.min(2 * cacheMs, KEPT_MS),
      keptMs: KEPT_MS,
      absentMs: 0,
      claimMs: CLAIM_MS, // a list may have megabytes
    },
    LISTS_MAX,
    { of: (kept) => (kept.etag === null ? 0 : kept.list.high.length * 8), max: BYTES_MAX },
  );
  const listOf = async (customer: string, access: ReadAccess): Promise<Kept> => {
    const key = erasedUsersKey(customer);
    const read = async (known: Kept | undefined): Promise<Kept> => {
      const found = await access.reader.changed(key, { etag: known?.etag ?? null, bytesMax: ERASED_BYTES_MAX });
      if (found === "same") return known!;
      if (found !== undefined) return { etag: found.etag, list: decodeErasedUsers(found.bytes) };
      if (!known || known.etag === null) return { etag: null };
      throw new FormatError(`${key}: expected the list that was there before, found no such object`);
    };
    return (await cache.get(key, read, access))!;
  };
  return {
    look: async (customer, access) => void (await listOf(customer, access)),
    async has(customer, user, access) {
      const kept = await listOf(customer, access);
      return kept.etag !== null && (await isErased(kept.list, user));
    },
    forget: (customer, nowMs) => cache.forget(erasedUsersKey(customer), nowMs),
  };
}
