/**
 * Who is using something right now. A lease ends when it is given back, or after `ttlMs`: when a caller hangs up, workerd
 * drops the request without running its `finally`, so a plain counter would never come down again.
 */
export type Leases = {
  /** Gives the function that ends the lease; ending it twice is no error. */
  take(nowMs: number): () => void;
  count(nowMs: number): number;
};

export function createLeases(ttlMs: number): Leases {
  const expiries = new Map<number, number>(); // by number of the lease; in order of expiry
  let next = 0;
  return {
    take(nowMs) {
      const lease = next++;
      expiries.set(lease, nowMs + ttlMs);
      return () => expiries.delete(lease);
    },
    count(nowMs) {
      for (const [lease, expiryMs] of expiries) {
        if (expiryMs > nowMs) break;
        expiries.delete(lease);
      }
      return expiries.size;
    },
  };
}
