import { createLeasesByHolder, type LeasesByHolder } from "./leases-by-holder.ts";

/** The work under way in an isolate, weighed in estimated milliseconds, in all and of each holder. */
export type HeldWork = LeasesByHolder & {
  /** That a holder asks, whether it is let in or not. */
  asks(holder: string, nowMs: number): void;
  /** Whether nobody else has asked of late. */
  isAlone(holder: string, nowMs: number): boolean;
};

const OF_LATE_MS = 10_000;

/** @param ttlMs After so long work is over: a caller who hung up never ends it. */
export function createHeldWork(ttlMs: number): HeldWork {
  // The last two that differ are enough to tell whether there is another.
  let last = { holder: "", atMs: Number.NEGATIVE_INFINITY };
  let before = last;
  return {
    ...createLeasesByHolder(ttlMs),
    asks(holder, nowMs) {
      if (holder !== last.holder) before = last;
      last = { holder, atMs: nowMs };
    },
    isAlone(holder, nowMs) {
      const other = last.holder === holder ? before : last;
      return nowMs - other.atMs > OF_LATE_MS;
    },
  };
}
