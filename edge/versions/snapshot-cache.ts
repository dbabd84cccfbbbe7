/**
 * Provides the version that a rank call uses.
 *
 * A version that is not in memory is loaded once. The request that starts the load keeps it alive with waitUntil; others poll every few
 * milliseconds, since they must not await another request's promise. A failed load is retried after a backoff.
 *
 * While a newer version of a model loads, the older one keeps serving as long as a new version may take to show; then calls wait. If the
 * newer one cannot be loaded, or not soon, the older one serves on.
 */
import type { Manifest } from "../../shared/manifest.ts";
import type { MemoryCost } from "../../shared/memory-cost.ts";
import { Problem } from "../../shared/problem.ts";
import { type ArtifactReader, isUnreadable, type ReadAccess, ReadError } from "../reading/artifact-reader.ts";
import { sleep, within } from "../reading/waiting.ts";
import type { LiveVersion, ModelVersion, OnModelGone } from "./live-pointers.ts";
import type { LoadedVersion, UserPlaces } from "./load-version.ts";
import { type PageMemory, pageMemory } from "./page-memory.ts";
import { RESERVATION_MS, type VersionLease, versionKey, versionMemory } from "./version-memory.ts";

export type CacheAccess = ReadAccess & {
  readonly log: (entry: object) => void;
  /** Called while this call loads the version, as soon as it is known where the users' records are. */
  readonly onUsers?: ((users: UserPlaces) => void) | undefined;
};

export type SnapshotCache = {
  /**
   * The live version, or the one before it: for at most ten seconds while the live one loads, longer if that fails or takes too long.
   * Throws Problem.
   * @param untilMs When the call stops waiting. The load goes on.
   */
  lease(target: LiveVersion, access: CacheAccess, untilMs?: number): Promise<VersionLease>;
  /** Evicts every version of a deleted model as soon as nobody uses it. */
  readonly retireModel: OnModelGone;
  /** Pages of user records, in the memory that versions leave free. */
  readonly pages: PageMemory;
};

export type MemoryBudget = {
  /** For versions and pages together. */
  readonly bytes: number;
  /** For pages of user records. */
  readonly pageBytesMax: number;
  /** The part of it that changes of a version's catalog take now. Absent: none. */
  readonly changesBytesOf?: (loaded: LoadedVersion) => number;
};

/** Loads versions into memory: edge/versions/load-version.ts and edge/versions/scorer.ts. */
export type VersionLoader = {
  readManifest(target: ModelVersion, reader: ArtifactReader): Promise<Manifest>;
  memoryCostOf(manifest: Manifest): MemoryCost;
  loadVersion(
    target: ModelVersion,
    manifest: Manifest,
    reader: ArtifactReader,
    onUsers?: CacheAccess["onUsers"],
  ): Promise<LoadedVersion>;
  /** Current size of the WASM heap. */
  heapBytes(): number;
};

type Failure = { readonly problem: Problem; readonly count: number; readonly retryAtMs: number };

/** A load that takes longer fails, and no call waits longer for one. It must be shorter than RESERVATION_MS. */
export const LOAD_MS_MAX = 25_000;
/** Calls wait this long for a load while an older version could serve. A million items take one to three seconds. */
const WAIT_FOR_NEWER_MS = 8000;
/** A new version shows within this time, unless it cannot be loaded. */
const SHOWN_WITHIN_MS = 10_000;
const NEVER = -1;
const POLL_MS = 10;
const FAILURES_MAX = 1000;
/** Time between the starts of two attempts. It doubles with each failure. */
const BACKOFF_MS_MIN = 1000;
const BACKOFF_MS_MAX = 4000;
/** Least time between a failure and the next attempt, so that calls that wait for the failed attempt get its error. */
const PAUSE_AFTER_FAILURE_MS = 1000;

export function snapshotCache(
  { bytes, pageBytesMax, changesBytesOf }: MemoryBudget,
  loader: VersionLoader,
): SnapshotCache {
  const memory = versionMemory(bytes, loader.heapBytes, changesBytesOf);
  const pages = pageMemory(pageBytesMax, memory.spareBytes);
  const loadStartedMs = new Map<string, number>();
  const failures = new Map<string, Failure>();

  const fail = (target: ModelVersion, startedMs: number, error: unknown, access: CacheAccess) => {
    const key = versionKey(target);
    const count = (failures.get(key)?.count ?? 0) + 1;
    const backoffMs = Math.min(BACKOFF_MS_MAX, BACKOFF_MS_MIN * 2 ** (count - 1));
    const retryAtMs = Math.max(startedMs + backoffMs, access.nowMs() + PAUSE_AFTER_FAILURE_MS);
    failures.delete(key);
    failures.set(key, { problem: problemOf(error, target), count, retryAtMs });
    if (failures.size > FAILURES_MAX) failures.delete(failures.keys().next().value!);
    access.log({ event: "version_refused", level: "error", ...nameOf(target), error: String(error) });
  };

  const load = async (target: ModelVersion, access: CacheAccess): Promise<void> => {
    const startedMs = access.nowMs();
    loadStartedMs.set(versionKey(target), startedMs);
    const reader = access.reader.endingIn(LOAD_MS_MAX);
    let release = () => {};
    try {
      const manifest = await loader.readManifest(target, reader);
      const cost = loader.memoryCostOf(manifest);
      release = await memory.reserve(target, cost, access);
      pages.trim(access.nowMs());
      const loaded = await loader.loadVersion(target, manifest, reader, access.onUsers);
      release();
      memory.add(loaded, cost, access, startedMs);
      pages.trim(access.nowMs());
      failures.delete(versionKey(target));
      const milliseconds = access.nowMs() - startedMs;
      const used = { heap_bytes: loader.heapBytes(), used_bytes: memory.usedBytes(access.nowMs()) };
      const reasons_from = loaded.fewScores ? "weights" : "runs";
      access.log({ event: "version_loaded", level: "info", ...nameOf(target), milliseconds, ...used, reasons_from });
    } catch (error) {
      release();
      fail(target, startedMs, error, access);
    } finally {
      loadStartedMs.delete(versionKey(target));
    }
  };

  const loadStateOf = (target: ModelVersion, nowMs: number) => {
    const key = versionKey(target);
    const failure = failures.get(key);
    const startedMs = loadStartedMs.get(key) ?? -Infinity;
    const isLoading = startedMs + RESERVATION_MS > nowMs;
    const isSlow = isLoading && startedMs + WAIT_FOR_NEWER_MS <= nowMs;
    return {
      isLoading,
      /** The failure of the last load, until the next attempt. */
      problem: failure && nowMs < failure.retryAtMs ? failure.problem : undefined,
      /** The load takes long, or the last one failed and the next one need not be awaited. */
      isLate: isSlow || (failure !== undefined && nowMs < failure.retryAtMs + LOAD_MS_MAX),
    };
  };

  return {
    pages,
    retireModel: memory.retireModel,
    async lease(target, access, callUntilMs = Number.POSITIVE_INFINITY) {
      const untilMs = Math.min(callUntilMs, access.nowMs() + LOAD_MS_MAX);
      for (;;) {
        const lease = memory.lease(target, access);
        if (lease) return lease;
        const now = access.nowMs();
        const isOver = now >= untilMs;
        const { problem, isLoading, isLate } = loadStateOf(target, now);
        const work = problem || isLoading || isOver ? undefined : load(target, access);
        if (work) access.waitUntil(work);
        const older = memory.leaseOther(target, access, isLate || isOver ? Infinity : standInMs(target));
        if (older) return older;
        if (problem || isOver) throw problem ?? problemOf(new ReadError("loading took too long"), target);
        await waitFor(work, Math.min(untilMs - now, WAIT_FOR_NEWER_MS));
      }
    },
  };
}

/** How long ago another version may have been live that stands in for one that loads. In an experiment, calls wait for their arm's. */
const standInMs = ({ serving }: ModelVersion) => (serving ? NEVER : SHOWN_WITHIN_MS);

/** Waits for a load that this call has started, for at most `ms`, or a moment for the load of another call. */
const waitFor = (load: Promise<void> | undefined, ms: number): Promise<void> =>
  load ? within(ms, "loading", load).catch(() => undefined) : sleep(POLL_MS); // a load never rejects, but its time may be over

const nameOf = ({ customer, modelName, live }: ModelVersion) => ({ customer, model: modelName, version: live.version });

function problemOf(cause: unknown, { modelName }: ModelVersion): Problem {
  if (cause instanceof Problem) return cause;
  const reason = isUnreadable(cause) ? "are damaged or cannot be read in time" : "cannot be loaded";
  return new Problem("artifact_unavailable", `The files of the model ${modelName} ${reason}. Try again.`, {
    cause,
    retryAfterSeconds: 2,
  });
}
