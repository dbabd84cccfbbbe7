import { MEGABYTE } from "../shared/memory-cost.ts";
import type { ProblemCode } from "../shared/problem.ts";
import { createAdmission } from "./admission/admission.ts";
import { createCustomerQuota } from "./admission/customer-quota.ts";
import { type Caller, keyring } from "./auth.ts";
import type { Bindings, Settings } from "./env.ts";
import { choiceCache } from "./events/choice-cache.ts";
import { popularItems } from "./events/popular-items.ts";
import { shardLists } from "./events/shard-lists.ts";
import type { PendingCalls } from "./live/counts.ts";
import { artifactReader } from "./reading/artifact-reader.ts";
import type { ObjectCache } from "./reading/cached-objects.ts";
import { refreshedCache } from "./reading/refreshed-cache.ts";
import { READ_LOCK_MS, type RequestAccess } from "./reading/waiting.ts";
import { BODY_MS_MAX } from "./request-body.ts";
import { catalogChanges } from "./versions/catalog-changes.ts";
import { erasedLists } from "./versions/erased-lists.ts";
import { livePointers, type PointerAhead } from "./versions/live-pointers.ts";
import { scenarios } from "./versions/scenarios.ts";
import { snapshotCache, type VersionLoader } from "./versions/snapshot-cache.ts";

/** What a request carries through the app, as Hono's type parameter. */
export type EdgeEnv = {
  Bindings: Bindings;
  Variables: {
    requestId: string;
    /** The header traceparent; absent if the caller sent none, or a wrong one. */
    traceParent?: string;
    isolate: Isolate;
    access: RequestAccess;
    /** Absent before the key is checked. */
    caller?: Caller;
    /** What a rank call reads while its key is read. */
    ahead?: PointerAhead;
    /** The call was refused for want of capacity, and is counted in one line of the log with others. */
    isLoggedTogether?: true;
    /** The code of the problem that the call was refused with. */
    refusal?: ProblemCode;
    /** The response was made with the headers that all responses have. */
    hasCommonHeaders?: true;
    /** How a rank call was answered, for the log. */
    ranked?: Readonly<Record<string, string | number>>;
  };
};

/** Extra time of a limit, since timers may fire late. */
const LATE_MS = 1000;
const MANAGEMENT_MS_MAX = 150_000;
/** The health check reads the bucket at most this often, since anybody may call it. */
const READINESS_MS = 2000;
/** A body of a rank call has up to 64 KiB. */
const RANK_BODIES_MAX = 192;
/** A body with events has up to 256 KiB. */
const EVENT_BODIES_MAX = 64;
/** A body with changed items has up to 256 KiB. */
const ITEM_BODIES_MAX = 32;
/** A body of a management call has up to 256 KiB. */
const MANAGEMENT_BODIES_MAX = 32;

export type Isolate = ReturnType<typeof createIsolate>;

/** What one isolate of the Worker keeps between requests. It holds values only: no promise and no I/O object of a request. */
export function createIsolate(bucket: R2Bucket, settings: Settings, loader: VersionLoader, cache?: ObjectCache) {
  const [cacheBytes, pageBytesMax] = [settings.CACHE_MEGABYTES * MEGABYTE, settings.RECORD_MEGABYTES * MEGABYTE];
  const pointerMs = settings.POINTER_CACHE_SECONDS * 1000;
  const changes = catalogChanges(pointerMs);
  const versions = snapshotCache({ bytes: cacheBytes, pageBytesMax, changesBytesOf: changes.bytesOf }, loader);
  const readyMs = { freshMs: READINESS_MS, servableMs: READINESS_MS, keptMs: READINESS_MS, absentMs: 0 };
  return {
    settings,
    reader: artifactReader(bucket, settings.READ_TIMEOUT_MS, cache),
    keys: keyring(settings.KEY_CACHE_SECONDS * 1000, cache, settings.LIKELY_CUSTOMER),
    pointers: livePointers(pointerMs, versions.retireModel),
    erased: erasedLists(pointerMs),
    eventShards: shardLists(pointerMs),
    bucket,
    /** Users of experiments whose exposure this isolate has stored. */
    exposed: new Set<string>(),
    popular: popularItems(pointerMs),
    choices: choiceCache(pointerMs),
    scenarios: scenarios(pointerMs),
    changes,
    /** By model: until when the trainer need not be told of further new items. */
    placing: new Map<string, number>(),
    versions,
    /** The rank calls under way. */
    ranks: createCustomerQuota(settings.CONCURRENT_RANKS_MAX, settings.RANK_TIMEOUT_MS + LATE_MS),
    /** The bodies of rank calls that are being read. */
    rankBodies: createCustomerQuota(RANK_BODIES_MAX, BODY_MS_MAX + LATE_MS),
    /** The calls under way that send events. */
    eventBodies: createCustomerQuota(EVENT_BODIES_MAX, BODY_MS_MAX + settings.EVENTS_TIMEOUT_MS + 2 * LATE_MS),
    /** The calls under way that change items. */
    itemBodies: createCustomerQuota(
      ITEM_BODIES_MAX,
      BODY_MS_MAX + settings.RANK_TIMEOUT_MS + settings.ITEMS_TIMEOUT_MS + 2 * LATE_MS,
    ),
    /** The management calls with a body under way. */
    managementBodies: createCustomerQuota(MANAGEMENT_BODIES_MAX, MANAGEMENT_MS_MAX),
    /** Which rank calls are computed, and when. */
    admission: createAdmission(settings.QUEUE_MS_MAX),
    pendingCalls: new Map() as PendingCalls,
    /** Whether the bucket has answered a moment ago. */
    readiness: refreshedCache<boolean>({ ...readyMs, readLockMs: READ_LOCK_MS }, 1),
  };
}
