/** The stand-in for the first version of a model that learns from events alone: popular items by live counts. */
import { decodeCatalog, encodeCatalog } from "../../shared/catalog.ts";
import { ID_BYTES_MAX, type ItemId } from "../../shared/ids.ts";
import { type Descriptor, FORMAT, POPULARITY } from "../../shared/manifest.ts";
import { MEGABYTE } from "../../shared/memory-cost.ts";
import { EVENTS_SCHEMA } from "../../shared/model-spec.ts";
import { packStrings } from "../../shared/packed-strings.ts";
import { popularityScores } from "../../shared/rank/score-scale.ts";
import { refreshedCache } from "../reading/refreshed-cache.ts";
import type { RequestAccess } from "../reading/waiting.ts";
import type { WaitingModel } from "../versions/live-pointers.ts";
import type { LoadedVersion } from "../versions/load-version.ts";
import type { ItemCount } from "./shard-rpc.ts";

/** Limit on the length of a list of popular items. */
export const POPULAR_MAX = 1000;
/** Stands for the version in answers. */
const NO_VERSION = "none";
const NO_FILE: Descriptor = { media_type: "", digest: "", size: 0 };
const MODELS_MAX = 1000;
const BYTES_MAX = 4 * MEGABYTE;
const KEPT_MS = 5 * 60_000;
/** Age of counts up to which a shard would return the same ones. */
const FRESH_MS = 1000;

/** Counts the users of items in all shards, by events of these types. */
type Count = (types: readonly string[]) => Promise<readonly ItemCount[]>;

export type PopularItems = {
  /** The counted items as a version without files: undefined before the first positive event. Throws what `count` throws. */
  versionOf(model: WaitingModel, count: Count, access: RequestAccess): Promise<LoadedVersion | undefined>;
};

/** Caches the counts of each model for a second, or two while calls arrive; never longer than live pointers, which stay `cacheMs`. */
export function popularItems(cacheMs: number): PopularItems {
  const freshMs = Math.min(cacheMs, FRESH_MS);
  const cache = refreshedCache<LoadedVersion>(
    { freshMs, servableMs: 2 * freshMs, keptMs: KEPT_MS, absentMs: freshMs },
    MODELS_MAX,
    { of: ({ catalog }) => catalog.itemCount * ID_BYTES_MAX, max: BYTES_MAX },
  );
  return {
    versionOf(model, count, access) {
      const { customer, modelName, meanings } = model;
      const positive = Object.keys(meanings).filter((type) => meanings[type]!.label);
      const read = async () => versionOfItems(model, mostPopular(await count(positive)));
      return cache.get(JSON.stringify([customer, modelName, meanings]), read, access);
    },
  };
}

/** The items by the sum of their counts. */
function mostPopular(counts: readonly ItemCount[]): ItemId[] {
  const users = new Map<ItemId, number>();
  for (const count of counts) users.set(count.item, (users.get(count.item) ?? 0) + count.users);
  const byUsers = [...users].sort(([a, ofA], [b, ofB]) => ofB - ofA || (a < b ? -1 : 1));
  return byUsers.slice(0, POPULAR_MAX).map(([item]) => item);
}

/** A version that has learnt no event and ranks these items in their order. */
function versionOfItems({ customer, modelName, meanings }: WaitingModel, items: ItemId[]): LoadedVersion | undefined {
  if (items.length === 0) return undefined;
  const itemIdType = "string";
  return {
    target: { customer, modelName, live: { version: NO_VERSION, manifest: NO_FILE } },
    manifest: {
      format: FORMAT,
      customer,
      model_name: modelName,
      created_at: "",
      item_id_type: itemIdType,
      item_id_column: EVENTS_SCHEMA.item.id,
      item_count: items.length,
      user_count: 0,
      model: { method: POPULARITY, history_max: 1, graph: NO_FILE, weights: [], golden: [], golden_tolerance: 1 },
      catalog: NO_FILE,
      attributes: null,
      users: null,
      events: { meanings, learnt: {} },
    },
    catalog: decodeCatalog(encodeCatalog({ itemIds: packStrings(items), itemIdType })),
    attributes: null,
    directory: null,
    userValues: null,
    similarity: null,
    recentChoices: null,
    together: null,
    repeatIntervals: null,
    itemHours: null,
    scorer: { score: async () => popularityScores(items.length), release: async () => {} },
  };
}
