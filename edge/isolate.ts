import { MEGABYTE } from "../shared/memory-cost.ts";
import { type Admission, createAdmission } from "./admission/admission.ts";
import { type CustomerQuota, createCustomerQuota } from "./admission/customer-quota.ts";
import { type Caller, type Keyring, keyring } from "./auth.ts";
import type { Bindings, Settings } from "./env.ts";
import { openApiDocument } from "./openapi.ts";
import { type ArtifactReader, artifactReader } from "./reading/artifact-reader.ts";
import type { ObjectCache } from "./reading/cached-objects.ts";
import { type RefreshedCache, refreshedCache } from "./reading/refreshed-cache.ts";
import type { RequestAccess } from "./reading/request-access.ts";
import { READ_LOCK_MS } from "./reading/single-flight.ts";
import { BODY_MS_MAX } from "./request-body.ts";
import { type ErasedLists, erasedLists } from "./versions/erased-lists.ts";
import { type LivePointers, type LiveVersion, livePointers } from "./versions/live-pointers.ts";
import { type SnapshotCache, snapshotCache, type VersionLoader } from "./versions/snapshot-cache.ts";

/** What one isolate of the Worker keeps between requests. It holds values only: no promise and no I/O object of a request. */
export type Isolate = {
  readonly settings: Settings;
  readonly reader: ArtifactReader;
  readonly keys: Keyring;
  readonly pointers: LivePointers;
  readonly erased: ErasedLists;
  readonly versions: SnapshotCache;
  /** The rank calls under way. */
  readonly ranks: CustomerQuota;
  /** The bodies of rank calls that are being read. */
  readonly rankBodies: CustomerQuota;
  /** The management calls with a body under way. */
  readonly managementBodies: CustomerQuota;
  /** Which rank calls are computed, and when. */
  readonly admission: Admission;
  /** Whether the bucket has answered a moment ago. */
  readonly readiness: RefreshedCache<boolean>;
  /** The API's description as JSON, made at the first call. */
  readonly openApi: () => string;
};

/** What a request carries through the app, as Hono's type parameter. */
export type EdgeEnv = {
  Bindings: Bindings;
  Variables: {
    requestId: string;
    isolate: Isolate;
    access: RequestAccess;
    /** Absent before the key is checked. */
    caller?: Caller;
    /** The model that a rank call reads while its key is read. It belongs to the customer that the key had before. */
    ahead?: { readonly customer: string; readonly modelName: string; readonly target: Promise<LiveVersion> };
    /** The call was refused for want of capacity, and is counted in one line of the log with others. */
    isLoggedTogether?: true;
    /** How a rank call was answered, for the log. */
    ranked?: Readonly<Record<string, string | number>>;
  };
};

/** A timer may be late by this. */
const LATE_MS = 1000;
const MANAGEMENT_MS_MAX = 150_000;
/** The health check reads the bucket at most this often, since anybody may call it. */
const READINESS_MS = 2000;
/** A body of a rank call has up to 64 KiB. */
const RANK_BODIES_MAX = 192;
/** A body of a management call has up to 256 KiB. */
const MANAGEMENT_BODIES_MAX = 32;

export function createIsolate(
  bucket: R2Bucket,
  settings: Settings,
  loader: VersionLoader,
  cache?: ObjectCache,
): Isolate {
  const readinessAges = {
    freshMs: READINESS_MS,
    servableMs: READINESS_MS,
    keptMs: READINESS_MS,
    absentMs: 0,
    readLockMs: READ_LOCK_MS,
  };
  const versions = snapshotCache(
    { bytes: settings.CACHE_MEGABYTES * MEGABYTE, pageBytesMax: settings.RECORD_MEGABYTES * MEGABYTE },
    loader,
  );
  let openApi: string | undefined;
  return {
    settings,
    reader: artifactReader(bucket, settings.READ_TIMEOUT_MS, cache),
    keys: keyring(settings.KEY_CACHE_SECONDS * 1000, cache),
    pointers: livePointers(settings.POINTER_CACHE_SECONDS * 1000, versions.retireModel),
    erased: erasedLists(settings.POINTER_CACHE_SECONDS * 1000),
    versions,
    ranks: createCustomerQuota(settings.CONCURRENT_RANKS_MAX, settings.RANK_TIMEOUT_MS + LATE_MS),
    rankBodies: createCustomerQuota(RANK_BODIES_MAX, BODY_MS_MAX + LATE_MS),
    managementBodies: createCustomerQuota(MANAGEMENT_BODIES_MAX, MANAGEMENT_MS_MAX),
    admission: createAdmission(settings.QUEUE_MS_MAX),
    readiness: refreshedCache(readinessAges, 1),
    openApi() {
      openApi ??= JSON.stringify(openApiDocument());
      return openApi;
    },
  };
}
