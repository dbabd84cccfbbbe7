import { allShards, EventShards, eventShardsKey, SHARDS_DEFAULT } from "../../shared/events/event-store.ts";
import { type ReadAccess, ReadError } from "../reading/artifact-reader.ts";
import { refreshedCache } from "../reading/refreshed-cache.ts";
import { within } from "../reading/waiting.ts";

/** How many shards hold the events of each customer. */
export type ShardLists = {
  /** Undefined before the customer's first event. Throws ReadError, FormatError. */
  of(customer: string, access: ReadAccess): Promise<EventShards | undefined>;
  /** All shards of the customer: none before the first event. Throws ReadError, FormatError. */
  all(customer: string, access: ReadAccess): Promise<string[]>;
  /** The customer's list, which is written before the first event. Throws ReadError, FormatError. */
  create(customer: string, bucket: R2Bucket, access: ReadAccess): Promise<EventShards>;
};

const LISTS_MAX = 5000;
const KEPT_MS = 10_000;
const WRITE_MS_MAX = 5000;

/**
 * Caches the lists: each is refreshed after `cacheMs`, and used for at most ten seconds. That a customer has no list is never cached,
 * since the first event counts from the next call on.
 */
export function shardLists(cacheMs: number): ShardLists {
  const freshness = { freshMs: cacheMs, servableMs: Math.min(2 * cacheMs, KEPT_MS), keptMs: KEPT_MS, absentMs: 0 };
  const cache = refreshedCache<EventShards>(freshness, LISTS_MAX);
  const listOf = (customer: string, access: ReadAccess) => {
    const key = eventShardsKey(customer);
    return cache.get(key, () => access.reader.json(key, EventShards), access);
  };
  return {
    of: listOf,
    async all(customer, access) {
      const list = await listOf(customer, access);
      return list ? allShards(list) : [];
    },
    async create(customer, bucket, access) {
      const known = await listOf(customer, access);
      if (known) return known;
      const list: EventShards = { format: 1, generations: [{ id: 0, shards: SHARDS_DEFAULT }] };
      const onlyIf = { etagDoesNotMatch: "*" }; // another isolate may have created the list meanwhile
      const key = eventShardsKey(customer);
      await within(WRITE_MS_MAX, `writing ${key}`, bucket.put(key, JSON.stringify(list), { onlyIf })).catch((cause) => {
        throw new ReadError(`${key} cannot be written: ${cause}`, { cause });
      });
      return (await listOf(customer, access))!;
    },
  };
}
