import { createLeasesByHolder } from "./leases-by-holder.ts";

/**
 * Who is using something of which there is little, such as places in a queue: so many in all, and so many for each holder,
 * so that none shuts out the others.
 */
export type Shares = {
  /** Gives the function that gives the share back; undefined when there is none left. */
  take(holder: string, nowMs: number): (() => void) | undefined;
  /** How many are taken. */
  count(nowMs: number): number;
};

/** @param ttlMs After so long a share comes back by itself: a caller who hung up never gives it back. */
export function createShares(most: { readonly total: number; readonly each: number }, ttlMs: number): Shares {
  const taken = createLeasesByHolder(ttlMs);
  return {
    take(holder, nowMs) {
      if (taken.count(nowMs) >= most.total || taken.countOf(holder, nowMs) >= most.each) return undefined;
      return taken.take(holder, nowMs);
    },
    count: taken.count,
  };
}
