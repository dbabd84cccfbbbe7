import { createLeases, type Leases } from "./leases.ts";

/** Leases, in all and of each holder. */
export type LeasesByHolder = {
  /** Gives the function that ends the lease; ending it twice is no error. */
  take(holder: string, nowMs: number, weight?: number): () => void;
  count(nowMs: number): number;
  countOf(holder: string, nowMs: number): number;
  /** Sums of the weights, 1 for each lease that was taken without. */
  weight(nowMs: number): number;
  weightOf(holder: string, nowMs: number): number;
};

/** Of what there is, as much as one holder may have where there are others: bursts are one customer's, and some is left for the rest. */
export const HOLDER_SHARE = 0.75;
/** Of more holders, those without a lease are forgotten. */
const HOLDERS_MAX = 1000;

/** @param ttlMs After so long a lease ends by itself: a caller who hung up never ends it. */
export function createLeasesByHolder(ttlMs: number): LeasesByHolder {
  const all = createLeases(ttlMs);
  const byHolder = new Map<string, Leases>();
  return {
    take(holder, nowMs, weight) {
      const own = byHolder.get(holder) ?? createLeases(ttlMs);
      byHolder.set(holder, own);
      if (byHolder.size > HOLDERS_MAX)
        for (const [name, leases] of byHolder) if (leases.count(nowMs) === 0 && leases !== own) byHolder.delete(name);
      const ends = [all.take(nowMs, weight), own.take(nowMs, weight)];
      return () => {
        for (const end of ends) end();
      };
    },
    count: (nowMs) => all.count(nowMs),
    countOf: (holder, nowMs) => byHolder.get(holder)?.count(nowMs) ?? 0,
    weight: (nowMs) => all.weight(nowMs),
    weightOf: (holder, nowMs) => byHolder.get(holder)?.weight(nowMs) ?? 0,
  };
}
