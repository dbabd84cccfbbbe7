/**
 * How a rank call comes by its version.
 *
 * A version that is wanted and not in memory is loaded once: the request that starts the load anchors it with waitUntil,
 * others look again every few milliseconds (never awaiting another request's promise). While a newer version of a model
 * loads, or when it cannot be loaded, the older one keeps serving. A load that failed is not tried again for a while.
 */
import { FormatError } from "../../shared/assert.ts";
import { type Manifest, modelKey } from "../../shared/manifest.ts";
import type { MemoryCost } from "../../shared/memory-cost.ts";
import { Problem } from "../../shared/problem.ts";
import { type ArtifactReader, ReadError } from "../reading/artifact-reader.ts";
import { DeadlineError, sleep, within } from "../reading/deadline.ts";
import { type FileReader, readerUntil } from "../reading/reader-until.ts";
import type { RequestAccess } from "../reading/request-access.ts";
import type { LiveVersion, OnNoneLive } from "./live-pointers.ts";
import type { LoadedVersion } from "./load-version.ts";
import { type PageMemory, pageMemory } from "./page-memory.ts";
import { type RecentUsers, recentUsers } from "./recent-users.ts";
import { forgetPages, readAhead } from "./user-pages.ts";
import { RESERVATION_MS, type VersionLease, versionKey, versionMemory } from "./version-memory.ts";

export type CacheAccess = RequestAccess & { readonly reader: ArtifactReader; readonly log: (entry: object) => void };

export type SnapshotCache = {
  /**
   * The live version, or the one before it while the live one cannot serve. Throws Problem.
   * @param untilMs Nobody waits longer, though a load goes on: DeadlineError then.
   */
  lease(target: LiveVersion, access: CacheAccess, untilMs?: number): Promise<VersionLease>;
  /** Every version of a model that has been deleted. */
  readonly letGo: OnNoneLive;
  /** Of users' records, in what memory versions leave. */
  readonly pages: PageMemory;
  readonly recentUsers: RecentUsers;
};

export type MemoryBudget = {
  /** For versions and pages. */
  readonly bytes: number;
  /** For pages of users' records. */
  readonly pageBytesMax: number;
};

/** Told when a version begins to be loaded. */
type OnLoading = (nowMs: number) => void;

/** How a version comes into memory: edge/versions/load-version.ts and edge/versions/scorer.ts. */
export type VersionLoader = {
  readManifest(target: LiveVersion, reader: FileReader): Promise<Manifest>;
  memoryCostOf(manifest: Manifest): MemoryCost;
  loadVersion(target: LiveVersion, manifest: Manifest, reader: FileReader): Promise<LoadedVersion>;
  /** Bytes of the WASM heap, now. */
  heapBytes(): number;
};

type Failure = { readonly problem: Problem; readonly count: number; readonly retryAtMs: number };

const RECENT_USERS_MAX = 2000;
/** A load that takes longer has failed, and nobody waits longer for one: while it lives, its reservation must not end. */
export const LOAD_MS_MAX = 25_000;
const LOOK_AGAIN_MS = 10;
const FAILURES_MAX = 1000;
/** Attempts begin at least so far apart, and not before who waited for the last one has been told. */
const BACKOFF_MS_MIN = 1000;
const BACKOFF_MS_MAX = 4000;
const TOLD_MS = 1000;

export function snapshotCache(
  { bytes, pageBytesMax }: MemoryBudget,
  loader: VersionLoader,
  onLoading: OnLoading,
): SnapshotCache {
  const memory = versionMemory(bytes, loader.heapBytes, (loaded) => forgetPages(loaded, pages));
  const pages = pageMemory(pageBytesMax, memory.spareBytes);
  const recent = recentUsers(RECENT_USERS_MAX);
  const loadingUntilMs = new Map<string, number>();
  const failures = new Map<string, Failure>();

  const fail = (target: LiveVersion, startedMs: number, error: unknown, access: CacheAccess) => {
    const key = versionKey(target);
    const count = (failures.get(key)?.count ?? 0) + 1;
    const backoffMs = Math.min(BACKOFF_MS_MAX, BACKOFF_MS_MIN * 2 ** (count - 1));
    const retryAtMs = Math.max(startedMs + backoffMs, access.nowMs() + TOLD_MS);
    failures.delete(key);
    failures.set(key, { problem: problemOf(error, target), count, retryAtMs });
    if (failures.size > FAILURES_MAX) failures.delete(failures.keys().next().value!);
    access.log({ event: "version_refused", level: "error", ...nameOf(target), error: String(error) });
  };

  const load = async (target: LiveVersion, access: CacheAccess): Promise<void> => {
    const startedMs = access.nowMs();
    onLoading(startedMs);
    loadingUntilMs.set(versionKey(target), startedMs + RESERVATION_MS);
    const reader = readerUntil(access.reader, startedMs + LOAD_MS_MAX, access.nowMs);
    let giveBack = () => {};
    let loaded: LoadedVersion | undefined; // until the memory has it
    try {
      const manifest = await loader.readManifest(target, reader);
      const cost = loader.memoryCostOf(manifest);
      giveBack = await memory.reserve(target, cost, access);
      pages.trim(access.nowMs());
      loaded = await loader.loadVersion(target, manifest, reader);
      const users = memory.isServingOther(target) ? recent.of(modelKey(target)) : []; // else calls are waiting
      await readAhead(loaded, users, { reader: access.reader, pages, access });
      giveBack();
      memory.add(loaded, cost, access, startedMs);
      loaded = undefined;
      pages.trim(access.nowMs());
      failures.delete(versionKey(target));
      const milliseconds = access.nowMs() - startedMs;
      const used = { heap_bytes: loader.heapBytes(), used_bytes: memory.usedBytes(access.nowMs()) };
      access.log({ event: "version_loaded", level: "info", ...nameOf(target), milliseconds, ...used });
    } catch (error) {
      giveBack();
      if (loaded !== undefined) access.waitUntil(loaded.scorer.release());
      fail(target, startedMs, error, access);
    } finally {
      loadingUntilMs.delete(versionKey(target));
    }
  };

  return {
    pages,
    recentUsers: recent,
    letGo: memory.letGo,
    async lease(target, access, callUntilMs = Number.POSITIVE_INFINITY) {
      const key = versionKey(target);
      const untilMs = Math.min(callUntilMs, access.nowMs() + LOAD_MS_MAX);
      while (access.nowMs() < untilMs) {
        const lease = memory.lease(target, access);
        if (lease) return lease;
        const now = access.nowMs();
        const failure = failures.get(key);
        const isFailing = failure !== undefined && failure.retryAtMs > now;
        const isStarting = !isFailing && !((loadingUntilMs.get(key) ?? 0) > now);
        const work = isStarting ? load(target, access) : undefined;
        if (work) access.waitUntil(work);
        const older = memory.leaseOther(target, access);
        if (older) return older;
        if (isFailing) throw failure.problem;
        if (work)
          await within(untilMs - now, "loading", work).catch(() => undefined); // only ever for being late
        else await sleep(LOOK_AGAIN_MS);
      }
      if (access.nowMs() >= callUntilMs) throw new DeadlineError("the call took too long");
      throw problemOf(new ReadError("loading took too long"), target);
    },
  };
}

const nameOf = ({ customer, modelName, live }: LiveVersion) => ({ customer, model: modelName, version: live.version });

function problemOf(cause: unknown, { modelName }: LiveVersion): Problem {
  if (cause instanceof Problem) return cause;
  const isExpected = cause instanceof ReadError || cause instanceof FormatError;
  const reason = isExpected ? "cannot be read right now or are damaged" : "cannot be loaded";
  return new Problem("artifact_unavailable", `The files of the model ${modelName} ${reason}. Try again.`, {
    cause,
    retryAfterSeconds: 2,
  });
}
