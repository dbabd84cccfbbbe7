/** The versions in memory, and the memory that they and the loads under way may take. */
import { FormatError } from "../../shared/assert.ts";
import { areOfOneModel } from "../../shared/live-pointer.ts";
import { modelKey } from "../../shared/manifest.ts";
import { ISOLATE_BYTES_MAX, type MemoryCost, RUNTIME_HEAP_BYTES } from "../../shared/memory-cost.ts";
import { Problem } from "../../shared/problem.ts";
import { createLeases, type Leases } from "../admission/leases.ts";
import { sleep } from "../reading/deadline.ts";
import type { RequestAccess } from "../reading/request-access.ts";
import type { LiveVersion, NamedModel } from "./live-pointers.ts";
import type { LoadedVersion } from "./load-version.ts";

export type VersionLease = { readonly loaded: LoadedVersion; readonly release: () => void };

export type VersionMemory = {
  /** A lease of exactly this version. */
  lease(target: LiveVersion, access: RequestAccess): VersionLease | undefined;
  /** A lease of another version of the same model; those of a deleted one, which had its name, are let go. */
  leaseOther(target: LiveVersion, access: RequestAccess): VersionLease | undefined;
  /** Whether another version of the same model is here. */
  isServingOther(target: LiveVersion): boolean;
  /**
   * Lets go of what was used least recently until `cost` fits, in the budget and, with what the load takes besides, in
   * an isolate; an older version of the same model last. Where only that one is in the way and is always in use, it is not
   * lent for a while, so that it comes to be let go.
   *
   * @returns the function that gives the reservation back.
   * @throws FormatError for a version that fits in no case; Problem overloaded when all is in use for too long.
   */
  reserve(target: LiveVersion, cost: MemoryCost, access: RequestAccess): Promise<() => void>;
  /**
   * Takes the place of the model's other versions whose loads began before, which are let go as soon as nobody uses them. Of
   * the same version twice the second is let go.
   * @param beganMs When its load began: one that was slow is no newer for it.
   */
  add(loaded: LoadedVersion, cost: MemoryCost, access: RequestAccess, beganMs: number): void;
  /** Retires every version of a model. */
  letGo(model: NamedModel, access: RequestAccess): void;
  /** Bytes that are taken or reserved, the runtime's own included. */
  usedBytes(nowMs: number): number;
  /** What of the budget nobody has taken. */
  spareBytes(nowMs: number): number;
  versions(): string[];
};

type Entry = {
  readonly loaded: LoadedVersion;
  readonly cost: MemoryCost;
  readonly leases: Leases;
  readonly beganMs: number;
  lastUsedMs: number;
  isRetired: boolean;
};
type Reservation = { readonly cost: MemoryCost; readonly untilMs: number };

const LEASE_MS = 40_000;
export const RESERVATION_MS = 30_000;
const WAIT_MS = 5000;
/** After so long an older version of the same model is no longer lent. */
const LENT_MS = 1000;
const LOOK_AGAIN_MS = 10;

/**
 * @param heapBytes The WASM heap's size now.
 * @param onLetGo Told of each version that is let go.
 */
export function versionMemory(
  budgetBytes: number,
  heapBytes: () => number,
  onLetGo: (loaded: LoadedVersion) => void = () => {},
): VersionMemory {
  const entries = new Map<string, Entry>();
  const reservations = new Set<Reservation>();
  const { usedBytes, spareBytes, fits, measure } = usage(entries, reservations, { budgetBytes, heapBytes });
  const letGo = (key: string, { loaded }: Entry, access: RequestAccess) => {
    entries.delete(key);
    onLetGo(loaded);
    access.waitUntil(loaded.scorer.release());
  };
  const idle = (nowMs: number) => [...entries].filter(([, entry]) => entry.leases.count(nowMs) === 0);
  const sweepRetired = (access: RequestAccess) => {
    for (const [key, entry] of idle(access.nowMs())) if (entry.isRetired) letGo(key, entry, access);
  };
  const take = (entry: Entry, access: RequestAccess): VersionLease => {
    entry.lastUsedMs = access.nowMs();
    const end = entry.leases.take(entry.lastUsedMs);
    const release = () => {
      end();
      if (entry.isRetired) sweepRetired(access);
      trim(NOTHING, entry.loaded.target, access); // what was in use when the heap outgrew its budget
    };
    return { loaded: entry.loaded, release };
  };
  /** Lets go of idle versions while a version more does not fit; says whether that was enough. */
  const trim = (more: MemoryCost, target: LiveVersion, access: RequestAccess): boolean => {
    while (!fits(bytesOf(more), more.loadingBytes, access.nowMs())) {
      const victim = leastRecent(idle(access.nowMs()), target);
      if (!victim || versionKey(victim[1].loaded.target) === versionKey(target)) return false;
      letGo(...victim, access);
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
      const entry = entries.get(versionKey(target));
      if (!entry) return undefined;
      entry.isRetired = false; // live again, after a roll-back
      return take(entry, access);
    },
    isServingOther: (target) => versionsOf(target).some(({ isRetired }) => !isRetired),
    leaseOther(target, access) {
      const isStranger = ({ loaded }: Entry) => !areOfOneModel(loaded.target.live, target.live);
      retire(versionsOf(target).filter(isStranger), access);
      const others = versionsOf(target).filter(({ isRetired }) => !isRetired);
      const entry = others.sort((a, b) => b.lastUsedMs - a.lastUsedMs)[0];
      return entry && take(entry, access);
    },
    letGo: (model, access) => retire(versionsOf(model), access),
    async reserve(target, cost, access) {
      const bytes = bytesOf(cost);
      if (RUNTIME_HEAP_BYTES + bytes > budgetBytes) throw tooLarge(bytes, budgetBytes);
      const [beganMs, unlent] = [access.nowMs(), unlentVersions()];
      while (!trim(cost, target, access)) {
        // What is over is the heap's, never to be given back, or what the load itself takes.
        if (entries.size + reservations.size === 0) break;
        const [nowMs, older] = [access.nowMs(), versionsOf(target)];
        if (nowMs > beganMs + WAIT_MS) throw unlent.lendAgain(noMemory());
        const isAllElse = entries.size + reservations.size === older.length;
        const isEnough = isAllElse || fits(bytes - bytesTogether(older), cost.loadingBytes, nowMs);
        if (isEnough && nowMs > beganMs + LENT_MS) unlent.add(older);
        await sleep(LOOK_AGAIN_MS);
      }
      const reservation = { cost, untilMs: access.nowMs() + RESERVATION_MS };
      reservations.add(reservation);
      return () => reservations.delete(reservation);
    },
    add(loaded, cost, access, beganMs) {
      const key = versionKey(loaded.target);
      retireOlder(versionsOf(loaded.target), key, beganMs);
      if (entries.has(key))
        access.waitUntil(loaded.scorer.release()); // loaded twice: the first may be in use
      else entries.set(key, { loaded, cost, beganMs, ...unused(access.nowMs()) });
      measure();
      sweepRetired(access);
      trim(NOTHING, loaded.target, access); // the heap may have grown more than was reserved
    },
    usedBytes,
    spareBytes,
    versions: () => [...entries.keys()],
  };
}

/** Those whose loads began later stay: this one was slow. */
function retireOlder(versions: readonly Entry[], newKey: string, beganMs: number): void {
  for (const entry of versions)
    if (entry.beganMs <= beganMs) entry.isRetired = versionKey(entry.loaded.target) !== newKey;
}

/** Versions that are not lent while a newer one waits for their memory. */
function unlentVersions() {
  const unlent: Entry[] = [];
  return {
    add(versions: readonly Entry[]): void {
      const lent = versions.filter(({ isRetired }) => !isRetired);
      for (const entry of lent) entry.isRetired = true;
      unlent.push(...lent);
    },
    /** Gives the error because of which the newer one waits no more. */
    lendAgain(error: Problem): Problem {
      for (const entry of unlent) entry.isRetired = false;
      return error;
    },
  };
}

const bytesOf = ({ heapBytes, scriptBytes }: MemoryCost) => heapBytes + scriptBytes;
const bytesTogether = (versions: readonly Entry[]) => versions.reduce((sum, { cost }) => sum + bytesOf(cost), 0);

const unused = (nowMs: number) => ({ leases: createLeases(LEASE_MS), lastUsedMs: nowMs, isRetired: false });

/** Counts what entries and reservations take. */
function usage(
  entries: ReadonlyMap<string, Entry>,
  reservations: Set<Reservation>,
  { budgetBytes, heapBytes }: { readonly budgetBytes: number; readonly heapBytes: () => number },
) {
  let explainedBytes = RUNTIME_HEAP_BYTES; // the most that the versions together should ever have needed
  let wasteBytes = 0; // what the heap has grown beyond that: it never shrinks
  const sum = (name: keyof MemoryCost) =>
    [...entries.values(), ...reservations].reduce((total, { cost }) => total + cost[name], 0);
  const usedBytes = (nowMs: number): number => {
    for (const reservation of reservations) if (reservation.untilMs < nowMs) reservations.delete(reservation);
    return RUNTIME_HEAP_BYTES + sum("heapBytes") + wasteBytes + sum("scriptBytes");
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
    /** To be called whenever a version was loaded. */
    measure() {
      explainedBytes = Math.max(explainedBytes, RUNTIME_HEAP_BYTES + sum("heapBytes"));
      wasteBytes = Math.max(wasteBytes, heapBytes() - explainedBytes);
    },
  };
}

function leastRecent(idle: readonly [string, Entry][], target: LiveVersion): [string, Entry] | undefined {
  const age = ([, { loaded, lastUsedMs }]: [string, Entry]) =>
    modelKey(loaded.target) === modelKey(target) ? Infinity : lastUsedMs;
  return idle.toSorted((a, b) => (age(a) < age(b) ? -1 : 1))[0];
}

const NOTHING: MemoryCost = { heapBytes: 0, scriptBytes: 0, loadingBytes: 0 };
/** The same for equal versions only. */
export const versionKey = (target: LiveVersion) => `${modelKey(target)}/${target.live.version}`;

const tooLarge = (bytes: number, budgetBytes: number) =>
  new FormatError(
    `the version needs ${bytes} bytes of memory besides the runtime's ${RUNTIME_HEAP_BYTES}; the budget is ${budgetBytes}`,
  );

const noMemory = () =>
  new Problem("overloaded", "Every loaded model is in use, so there is no memory for this one. Try again.", {
    retryAfterSeconds: 1,
  });
