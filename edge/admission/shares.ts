import { createLeases, type Leases } from "./leases.ts";

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

/** Of more holders, those without a share are forgotten. */
const HOLDERS_MAX = 1000;

/** @param ttlMs After so long a share comes back by itself: a caller who hung up never gives it back. */
export function createShares(most: { readonly total: number; readonly each: number }, ttlMs: number): Shares {
  const all = createLeases(ttlMs);
  const byHolder = new Map<string, Leases>();
  return {
    take(holder, nowMs) {
      if (all.count(nowMs) >= most.total) return undefined;
      const own = byHolder.get(holder) ?? createLeases(ttlMs);
      if (own.count(nowMs) >= most.each) return undefined;
      byHolder.set(holder, own);
      if (byHolder.size > HOLDERS_MAX)
        for (const [name, leases] of byHolder) if (leases.count(nowMs) === 0 && leases !== own) byHolder.delete(name);
      const ends = [all.take(nowMs), own.take(nowMs)];
      return () => {
        for (const end of ends) end();
      };
    },
    count: (nowMs) => all.count(nowMs),
  };
}
