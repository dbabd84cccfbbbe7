import { createLeases, type Leases } from "./leases.ts";

/** The work under way in an isolate, in estimated milliseconds, in all and of each holder. */
export type HeldWork = {
  /** Gives the function that ends it. */
  take(holder: string, nowMs: number, milliseconds: number): () => void;
  /** How many calls it is. */
  count(nowMs: number): number;
  weight(nowMs: number): number;
  weightOf(holder: string, nowMs: number): number;
  /** That a holder asks, whether it is let in or not. */
  asks(holder: string, nowMs: number): void;
  /** Whether nobody else has asked of late. */
  isAlone(holder: string, nowMs: number): boolean;
};

/** Of more holders, those without work are forgotten. */
const HOLDERS_MAX = 1000;
const OF_LATE_MS = 10_000;

/** @param ttlMs After so long work is over: a caller who hung up never ends it. */
export function createHeldWork(ttlMs: number): HeldWork {
  const all = createLeases(ttlMs);
  const byHolder = new Map<string, Leases>();
  // The last two that differ are enough to tell whether there is another.
  let last = { holder: "", atMs: Number.NEGATIVE_INFINITY };
  let before = last;
  return {
    take(holder, nowMs, milliseconds) {
      const own = byHolder.get(holder) ?? createLeases(ttlMs);
      byHolder.set(holder, own);
      if (byHolder.size > HOLDERS_MAX)
        for (const [name, leases] of byHolder) if (leases.count(nowMs) === 0 && leases !== own) byHolder.delete(name);
      const ends = [all.take(nowMs, milliseconds), own.take(nowMs, milliseconds)];
      return () => {
        for (const end of ends) end();
      };
    },
    count: (nowMs) => all.count(nowMs),
    weight: (nowMs) => all.weight(nowMs),
    weightOf: (holder, nowMs) => byHolder.get(holder)?.weight(nowMs) ?? 0,
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
