/** The versions in memory, and the memory budget that they share with the loads in progress. */
import { FormatError } from "../../shared/assert.ts";
import { areOfOneModel } from "../../shared/live-pointer.ts";
import { modelKey } from "../../shared/manifest.ts";
import { ISOLATE_BYTES_MAX, type MemoryCost, RUNTIME_HEAP_BYTES } from "../../shared/memory-cost.ts";
import { Problem } from "../../shared/problem.ts";
import { type CustomerQuota, createCustomerQuota } from "../admission/customer-quota.ts";
import { type RequestAccess, sleep } from "../reading/waiting.ts";
import type { LiveVersion, ModelVersion, NamedModel } from "./live-pointers.ts";
import type { LoadedVersion } from "./load-version.ts";

export type VersionLease = { readonly loaded: LoadedVersion; readonly release: () => void };

export type VersionMemory = {
  /** Leases exactly this version; undefined if it is not in memory. */
  lease(target: LiveVersion, access: RequestAccess): VersionLease | undefined;
  /**
   * Leases another version of the same model that was live within the last `withinMs`, first of all the stand-in. Versions of a deleted
   * model of that name are retired.
   */
  leaseOther(target: ModelVersion, access: RequestAccess, withinMs?: number): VersionLease | undefined;
  /**
   * Evicts the least recently used versions until `cost` fits into the budget and, together with the temporary memory of the load, into
   * an isolate. An older version of the same model goes last. If only that version is in the way and it is always in use, it is paused:
   * no new call leases it, so that it can be evicted. The version of an arm takes no memory of other versions of its model.
   *
   * @returns a function that ends the reservation.
   * @throws FormatError for a version that can never fit; Problem overloaded if all other versions stay in use for too long, or if an arm's
   *   version does not fit beside the others of its model.
   */
  reserve(target: ModelVersion, cost: MemoryCost, access: RequestAccess): Promise<() => void>;
  /**
   * Adds a version and retires the model's other versions whose loads began earlier. If the same version is added twice, the second copy
   * is released.
   * @param beganMs When its load began: a slow load does not make a version newer.
   */
  add(loaded: LoadedVersion, cost: MemoryCost, access: RequestAccess, beganMs: number): void;
  /** Retires every version of a model: each is evicted as soon as nobody uses it. */
  retireModel(model: NamedModel, access: RequestAccess): void;
  /** Bytes in use or reserved, including those of the runtime itself. */
  usedBytes(nowMs: number): number;
  /** Bytes of the budget that are neither used nor reserved. */
  spareBytes(nowMs: number): number;
  versions(): string[];
};

type Entry = {
  readonly loaded: LoadedVersion;
  readonly cost: MemoryCost;
  readonly leases: CustomerQuota;
  readonly beganMs: number;
  lastUsedMs: number;
  /** The last time at which the version is known to have been live. */
  confirmedMs: number;
  /** The version is not leased any more, and is evicted once nobody uses it. */
  isRetired: boolean;
};
type Reservation = { readonly cost: MemoryCost; readonly untilMs: number };

const LEASE_MS = 40_000;
export const RESERVATION_MS = 30_000;
/** The longest time that a load waits for memory. */
const WAIT_MS = 5000;
/** The time that a load waits before an older version of the same model is paused. */
const PAUSE_AFTER_MS = 1000;
const POLL_MS = 10;

/**
 * @param heapBytes The current size of the WASM heap.
 * @param changesBytesOf The memory that changes of a version's catalog take now.
 */
export function versionMemory(budgetBytes: number, heapBytes: () => number, changesBytesOf = noBytes): VersionMemory {
  const entries = new Map<string, Entry>();
  const reservations = new Set<Reservation>();
  const budget = { budgetBytes, heapBytes, changesBytesOf };
  const { usedBytes, spareBytes, fits, measure } = usage(entries, reservations, budget);
  const evict = (key: string, { loaded }: Entry, access: RequestAccess) => {
    entries.delete(key);
    access.waitUntil(loaded.scorer.release());
  };
  const idle = (nowMs: number) => [...entries].filter(([, entry]) => entry.leases.taken(nowMs) === 0);
  const sweepRetired = (access: RequestAccess) => {
    for (const [key, entry] of idle(access.nowMs())) if (entry.isRetired) evict(key, entry, access);
  };
  const leaseEntry = (entry: Entry, access: RequestAccess): VersionLease => {
    entry.lastUsedMs = access.nowMs();
    const endLease = entry.leases.take("", entry.lastUsedMs)!;
    const release = () => {
      endLease();
      if (entry.isRetired) sweepRetired(access);
      trim(NO_COST, entry.loaded.target, access); // the heap may have outgrown the budget while this version was in use
    };
    return { loaded: entry.loaded, release };
  };
  /** Evicts idle versions until `more` fits. Returns whether it fits now. */
  const trim = (more: MemoryCost, target: ModelVersion, access: RequestAccess): boolean => {
    while (!fits(bytesOf(more), more.loadingBytes, access.nowMs())) {
      const evictable = idle(access.nowMs()).filter(([, entry]) => !servesBeside(target, entry));
      const victim = leastRecent(evictable, target);
      if (!victim || versionKey(victim[1].loaded.target) === versionKey(target)) return false;
      evict(...victim, access);
    }
    return true;
  };

  const versionsOf = (model: NamedModel) =>
    [...entries.values()].filter(({ loaded }) => modelKey(loaded.target) === modelKey(model));
  const retire = (versions: readonly Entry[], access: RequestAccess) => {
    for (const entry of versions) entry.isRetired = true;
    sweepRetired(access);
  };

  return {
    lease(target, access) {
      const entry = confirmed(entries.get(versionKey(target)), target);
      return entry && leaseEntry(entry, access);
    },
    leaseOther(target, access, withinMs = Infinity) {
      const isOfDeletedModel = ({ loaded }: Entry) => !areOfOneModel(loaded.target.live, target.live);
      retire(versionsOf(target).filter(isOfDeletedModel), access);
      const entry = latestUsed(versionsOf(target), target, { nowMs: access.nowMs(), withinMs });
      return entry && leaseEntry(entry, access);
    },
    retireModel: (model, access) => retire(versionsOf(model), access),
    async reserve(target, cost, access) {
      const bytes = bytesOf(cost);
      if (RUNTIME_HEAP_BYTES + bytes > budgetBytes) throw tooLarge(bytes, budgetBytes);
      const [beganMs, paused] = [access.nowMs(), pausedVersions()];
      while (!trim(cost, target, access)) {
        // Nothing is left to evict: the excess is the heap's growth, which never shrinks, or the load's temporary memory.
        if (entries.size + reservations.size === 0) break;
        const [nowMs, older] = [access.nowMs(), versionsOf(target)];
        const isAlone = entries.size + reservations.size === older.length;
        if (isAlone && older.every((entry) => servesBeside(target, entry))) throw noRoomForArm();
        if (nowMs > beganMs + WAIT_MS) {
          paused.resume();
          throw noMemory();
        }
        const wouldFit = isAlone || fits(bytes - totalBytes(older), cost.loadingBytes, nowMs);
        if (wouldFit && target.standIn === undefined && nowMs > beganMs + PAUSE_AFTER_MS) paused.add(older);
        await sleep(POLL_MS);
      }
      const reservation = { cost, untilMs: access.nowMs() + RESERVATION_MS };
      reservations.add(reservation);
      return () => reservations.delete(reservation);
    },
    add(loaded, cost, access, beganMs) {
      const key = versionKey(loaded.target);
      retireOlder(versionsOf(loaded.target), loaded.target, beganMs);
      if (entries.has(key))
        access.waitUntil(loaded.scorer.release()); // loaded twice; the first copy may be in use
      else entries.set(key, { loaded, cost, beganMs, ...unused(access.nowMs()) });
      measure();
      sweepRetired(access);
      trim(NO_COST, loaded.target, access); // the heap may have grown more than was reserved
    },
    usedBytes,
    spareBytes,
    versions: () => [...entries.keys()],
  };
}

/** Whether an entry serves together with a target that is an arm's version, which takes no memory of it. */
const servesBeside = (target: ModelVersion, { loaded }: Entry): boolean =>
  target.standIn !== undefined &&
  modelKey(loaded.target) === modelKey(target) &&
  loaded.target.live.version !== target.live.version &&
  target.serving?.has(loaded.target.live.version) === true;

/** The entry of a version that is live, perhaps again, after a roll-back. */
function confirmed(entry: Entry | undefined, { confirmedMs }: LiveVersion): Entry | undefined {
  if (entry === undefined) return undefined;
  entry.isRetired = false;
  entry.confirmedMs = Math.max(entry.confirmedMs, confirmedMs);
  return entry;
}

/**
 * Retires the versions whose loads began no later than the new one's, except those that serve beside it. Others are newer, since the new
 * one's load was slow.
 */
function retireOlder(versions: readonly Entry[], { live, serving }: ModelVersion, beganMs: number): void {
  const stays = (version: string) => version === live.version || serving?.has(version);
  for (const entry of versions)
    if (entry.beganMs <= beganMs) entry.isRetired = !stays(entry.loaded.target.live.version);
}

/** Versions that no new call may lease while a newer one waits for their memory. */
function pausedVersions() {
  const paused: Entry[] = [];
  return {
    add(versions: readonly Entry[]): void {
      const active = versions.filter(({ isRetired }) => !isRetired);
      for (const entry of active) entry.isRetired = true;
      paused.push(...active);
    },
    resume(): void {
      for (const entry of paused) entry.isRetired = false;
    },
  };
}

/** Among versions that may be leased and were live within the last `withinMs`, the target's stand-in, else the one that was used last. */
function latestUsed(
  versions: readonly Entry[],
  { standIn }: ModelVersion,
  { nowMs, withinMs }: { readonly nowMs: number; readonly withinMs: number },
): Entry | undefined {
  const isUsable = (entry: Entry) => !entry.isRetired && confirmedAgoMs(entry, nowMs) <= withinMs;
  const isStandIn = ({ loaded }: Entry) => Number(loaded.target.live.version === standIn);
  return versions.filter(isUsable).sort((a, b) => isStandIn(b) - isStandIn(a) || b.lastUsedMs - a.lastUsedMs)[0];
}

/** Time since the version is known to have been live. A time in the future, after the clock was set back, counts as one in the past. */
const confirmedAgoMs = ({ confirmedMs }: Entry, nowMs: number) => Math.abs(nowMs - confirmedMs);
const noBytes = (_: LoadedVersion): number => 0;
const bytesOf = ({ heapBytes, scriptBytes }: MemoryCost) => heapBytes + scriptBytes;
const totalBytes = (versions: readonly Entry[]) => versions.reduce((sum, { cost }) => sum + bytesOf(cost), 0);

const unused = (nowMs: number) => {
  return {
    leases: createCustomerQuota(Infinity, LEASE_MS),
    lastUsedMs: nowMs,
    confirmedMs: -Infinity,
    isRetired: false,
  };
};

type Budget = {
  readonly budgetBytes: number;
  readonly heapBytes: () => number;
  readonly changesBytesOf: (loaded: LoadedVersion) => number;
};

/** Counts the memory of entries, reservations and changes of catalogs. */
function usage(
  entries: ReadonlyMap<string, Entry>,
  reservations: Set<Reservation>,
  { budgetBytes, heapBytes, changesBytesOf }: Budget,
) {
  let explainedBytes = RUNTIME_HEAP_BYTES; // the most heap that the versions should have needed so far
  let wasteBytes = 0; // heap growth beyond that, which stays, since the heap never shrinks
  const sum = (name: keyof MemoryCost) =>
    [...entries.values(), ...reservations].reduce((total, { cost }) => total + cost[name], 0);
  const changesBytes = () => [...entries.values()].reduce((total, { loaded }) => total + changesBytesOf(loaded), 0);
  const usedBytes = (nowMs: number): number => {
    for (const reservation of reservations) if (reservation.untilMs < nowMs) reservations.delete(reservation);
    return RUNTIME_HEAP_BYTES + sum("heapBytes") + wasteBytes + sum("scriptBytes") + changesBytes();
  };
  const loadingBytes = () => [...reservations].reduce((total, { cost }) => total + cost.loadingBytes, 0);
  return {
    usedBytes,
    spareBytes: (nowMs: number): number =>
      Math.max(0, Math.min(budgetBytes, ISOLATE_BYTES_MAX - loadingBytes()) - usedBytes(nowMs)),
    fits(bytesMore: number, loadingBytes: number, nowMs: number): boolean {
      const bytes = usedBytes(nowMs) + bytesMore;
      return bytes <= budgetBytes && bytes + loadingBytes <= ISOLATE_BYTES_MAX;
    },
    /** Called after each load. */
    measure() {
      explainedBytes = Math.max(explainedBytes, RUNTIME_HEAP_BYTES + sum("heapBytes"));
      wasteBytes = Math.max(wasteBytes, heapBytes() - explainedBytes);
    },
  };
}

function leastRecent(idle: readonly [string, Entry][], target: ModelVersion): [string, Entry] | undefined {
  const age = ([, { loaded, lastUsedMs }]: [string, Entry]) =>
    modelKey(loaded.target) === modelKey(target) ? Infinity : lastUsedMs;
  return idle.toSorted((a, b) => (age(a) < age(b) ? -1 : 1))[0];
}

const NO_COST: MemoryCost = { heapBytes: 0, scriptBytes: 0, loadingBytes: 0 };
export const versionKey = (target: ModelVersion) => `${modelKey(target)}/${target.live.version}`;

const tooLarge = (bytes: number, budgetBytes: number) =>
  new FormatError(
    `the version needs ${bytes} bytes of memory besides the runtime's ${RUNTIME_HEAP_BYTES}; the budget is ${budgetBytes}`,
  );

const noRoomForArm = () =>
  new Problem(
    "overloaded",
    "The version of an experiment, canary or holdout does not fit into CACHE_MEGABYTES beside the live one.",
    { retryAfterSeconds: 1 },
  );

const noMemory = () =>
  new Problem("overloaded", "Every loaded model is in use, so there is no memory for this one. Try again.", {
    retryAfterSeconds: 1,
  });
