import { MEGABYTE } from "../shared/memory-cost.ts";
import { type Admission, createAdmission } from "./admission/admission.ts";
import { createHolders, type Holders } from "./admission/holders.ts";
import { HOLDER_SHARE } from "./admission/leases-by-holder.ts";
import { createShares, type Shares } from "./admission/shares.ts";
import { type Keyring, keyring } from "./auth.ts";
import type { Settings } from "./env.ts";
import { openApiDocument } from "./openapi.ts";
import { type ArtifactReader, artifactReader } from "./reading/artifact-reader.ts";
import { type RefreshedCache, refreshedCache } from "./reading/refreshed-cache.ts";
import { READ_LOCK_MS } from "./reading/single-flight.ts";
import { BODY_MS_MAX } from "./request-body.ts";
import { type ErasedLists, erasedLists } from "./versions/erased-lists.ts";
import { type LivePointers, livePointers } from "./versions/live-pointers.ts";
import { type SnapshotCache, snapshotCache, type VersionLoader } from "./versions/snapshot-cache.ts";

/** What one isolate of the Worker keeps between requests. Values only: no promise and no I/O object of a request. */
export type Isolate = {
  readonly settings: Settings;
  readonly reader: ArtifactReader;
  readonly keys: Keyring;
  readonly pointers: LivePointers;
  readonly erased: ErasedLists;
  readonly versions: SnapshotCache;
  /** The rank calls under way, by customer. */
  readonly ranks: Shares;
  /** The bodies of rank calls that are being read, by customer: who sends one slowly holds up nobody's call. */
  readonly rankBodies: Shares;
  /** The same of management calls, until they are answered. */
  readonly managementBodies: Shares;
  /** Which of them, once they have a version, may go on. */
  readonly admission: Admission;
  readonly holders: Holders;
  readonly readiness: RefreshedCache<"well" | "silent">;
  /** The API's description as JSON, made when it is first asked for. */
  readonly openApi: () => string;
};

/** Of a call that is let in, beyond twice what calls may wait: the thread's stalls. Nobody waits longer to begin. */
const QUEUED_MS_MORE = 1000;
/** By which a timer may be late. */
const LATE_MS = 1000;
const HOLDERS_MAX = 1000;
const MANAGEMENT_MS_MAX = 150_000;
const READINESS_MS = 2000;
/** Of 64 KiB each. */
const RANK_BODIES_MAX = 192;
/** Of 256 KiB each. */
const MANAGEMENT_BODIES_MAX = 32;
const sharesOf = (total: number) => ({ total, each: Math.max(1, Math.floor(HOLDER_SHARE * total)) });

export function createIsolate(bucket: R2Bucket, settings: Settings, loader: VersionLoader): Isolate {
  const readinessMs = {
    freshMs: READINESS_MS,
    servableMs: READINESS_MS,
    keptMs: READINESS_MS,
    absentMs: 0,
    readLockMs: READ_LOCK_MS,
  };
  const queuedMsMax = 2 * settings.QUEUE_MS_MAX + QUEUED_MS_MORE;
  const admission = createAdmission(settings.QUEUE_MS_MAX, queuedMsMax);
  const versions = snapshotCache(
    { bytes: settings.CACHE_MEGABYTES * MEGABYTE, pageBytesMax: settings.RECORD_MEGABYTES * MEGABYTE },
    loader,
    admission.loading,
  );
  return {
    settings,
    reader: artifactReader(bucket, settings.READ_TIMEOUT_MS),
    keys: keyring(settings.KEY_CACHE_SECONDS * 1000),
    pointers: livePointers(settings.POINTER_CACHE_SECONDS * 1000, versions.retireModel),
    erased: erasedLists(settings.POINTER_CACHE_SECONDS * 1000),
    versions,
    ranks: createShares(sharesOf(settings.CONCURRENT_RANKS_MAX), settings.RANK_TIMEOUT_MS + queuedMsMax),
    rankBodies: createShares(sharesOf(RANK_BODIES_MAX), BODY_MS_MAX + LATE_MS),
    managementBodies: createShares(sharesOf(MANAGEMENT_BODIES_MAX), MANAGEMENT_MS_MAX),
    admission,
    holders: createHolders(HOLDERS_MAX),
    readiness: refreshedCache(readinessMs, 1),
    openApi: once(() => JSON.stringify(openApiDocument())),
  };
}

function once<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
