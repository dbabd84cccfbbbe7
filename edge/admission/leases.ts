/**
 * Who is using something right now. A lease ends when it is given back, or after `ttlMs`: when a caller hangs up, workerd
 * drops the request without running its `finally`, so a plain counter would never come down again.
 */
export type Leases = {
  /** Gives the function that ends the lease; ending it twice is no error. */
  take(nowMs: number, weight?: number): () => void;
  count(nowMs: number): number;
  /** Sum of the weights, 1 for each lease that was taken without. */
  weight(nowMs: number): number;
};

export function createLeases(ttlMs: number): Leases {
  const leases = new Map<number, { readonly expiryMs: number; readonly weight: number }>(); // in order of expiry
  let next = 0;
  let weight = 0;
  const end = (lease: number) => {
    weight -= leases.get(lease)?.weight ?? 0;
    leases.delete(lease);
    if (leases.size === 0) weight = 0; // sums of fractions drift
  };
  const endExpired = (nowMs: number) => {
    for (const [lease, { expiryMs }] of leases) {
      if (expiryMs > nowMs) break;
      end(lease);
    }
  };
  return {
    take(nowMs, taken = 1) {
      const lease = next++;
      leases.set(lease, { expiryMs: nowMs + ttlMs, weight: taken });
      weight += taken;
      return () => end(lease);
    },
    count(nowMs) {
      endExpired(nowMs);
      return leases.size;
    },
    weight(nowMs) {
      endExpired(nowMs);
      return weight;
    },
  };
}
