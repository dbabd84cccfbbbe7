/**
 * Leases of something limited. A lease ends when it is given back, or after `ttlMs`: when a caller hangs up, workerd drops the request
 * without running its `finally`, so a plain counter would never come down again.
 */
export type Leases = {
  /** Gives the function that ends the lease. Ending a lease twice is no error. */
  take(nowMs: number, customer?: string, weight?: number): () => void;
  count(nowMs: number): number;
  /** The sum of the weights, of all leases or of one customer's. */
  weight(nowMs: number, customer?: string): number;
};

export function createLeases(ttlMs: number): Leases {
  const leases = new Set<{ readonly customer: string; readonly weight: number; readonly expiryMs: number }>(); // in order of expiry
  const endExpired = (nowMs: number) => {
    for (const lease of leases) {
      if (lease.expiryMs > nowMs) return;
      leases.delete(lease);
    }
  };
  return {
    take(nowMs, customer = "", weight = 1) {
      const lease = { customer, weight, expiryMs: nowMs + ttlMs };
      leases.add(lease);
      return () => void leases.delete(lease);
    },
    count(nowMs) {
      endExpired(nowMs);
      return leases.size;
    },
    weight(nowMs, customer) {
      endExpired(nowMs);
      let sum = 0;
      for (const lease of leases) if (customer === undefined || lease.customer === customer) sum += lease.weight;
      return sum;
    },
  };
}

/** A limited amount that is divided among the calls under way, so that no customer takes all of it. */
export type CustomerQuota = {
  hasRoom(customer: string, nowMs: number, weight?: number): boolean;
  /** Gives the function that returns what was taken; undefined when there is no room. */
  take(customer: string, nowMs: number, weight?: number): (() => void) | undefined;
  /** What is taken now. */
  taken(nowMs: number): number;
};

/** The fraction of a quota that one customer may take. The rest stays free for the others, however many calls that customer makes. */
export const CUSTOMER_FRACTION_MAX = 0.75;

/**
 * @param total The sum of the weights at most.
 * @param ttlMs No call takes longer.
 * @param customerMax The sum of one customer's weights at most; it may change over time.
 */
export function createCustomerQuota(
  total: number,
  ttlMs: number,
  customerMax: () => number = () => CUSTOMER_FRACTION_MAX * total,
): CustomerQuota {
  const leases = createLeases(ttlMs);
  // A first call always fits, also where its weight alone is above the limit.
  const fits = (taken: number, weight: number, limit: number) => taken === 0 || taken + weight <= limit;
  const hasRoom: CustomerQuota["hasRoom"] = (customer, nowMs, weight = 1) =>
    fits(leases.weight(nowMs), weight, total) && fits(leases.weight(nowMs, customer), weight, customerMax());
  return {
    hasRoom,
    take: (customer, nowMs, weight) =>
      hasRoom(customer, nowMs, weight) ? leases.take(nowMs, customer, weight) : undefined,
    taken: (nowMs) => leases.weight(nowMs),
  };
}
