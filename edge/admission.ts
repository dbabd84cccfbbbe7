import type { Leases } from "./leases.ts";

/** CPU time of a rank call, in milliseconds: measured in workerd by `npm run bench -- edge-scale` at 10k, 100k and 1M items. */
const BASE_MS = 2.5;
const MS_PER_ITEM = 25e-6;

export type Arrival = {
  readonly itemCount: number;
  readonly nowMs: number;
  /** Work that may be under way at once, in milliseconds; a single call is always let in. */
  readonly queueMsMax: number;
};

/**
 * A place among the rank calls of an isolate, which has one thread for all: so what is under way is how long a new call
 * would wait. Gives the function that leaves the place; undefined when the wait would be too long.
 */
export function admit(work: Leases, { itemCount, nowMs, queueMsMax }: Arrival): (() => void) | undefined {
  const callMs = BASE_MS + MS_PER_ITEM * itemCount;
  const waitingMs = work.weight(nowMs);
  if (waitingMs > 0 && waitingMs + callMs > queueMsMax) return undefined;
  return work.take(nowMs, callMs);
}
