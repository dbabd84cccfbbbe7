/**
 * A limited amount that is divided among the calls under way, so that no customer takes all of it. What a call took is returned at its
 * end, or after `ttlMs`: when a caller hangs up, workerd drops the request without running its `finally`.
 */
export type CustomerQuota = {
  hasRoom(customer: string, nowMs: number, weight?: number): boolean;
  /** Takes `weight` and returns the function that gives it back, which may be called twice; undefined when there is no room. */
  take(customer: string, nowMs: number, weight?: number): (() => void) | undefined;
  /** The sum of the weights that are taken now. */
  taken(nowMs: number): number;
};

/** The fraction of a quota that one customer may take. The rest stays free for the others, however many calls that customer makes. */
export const CUSTOMER_FRACTION_MAX = 0.75;

/**
 * @param total Limit on the sum of all weights.
 * @param ttlMs Time after which a weight counts as given back; longer than any call takes.
 * @param customerMax Limit on the sum of one customer's weights; it may change over time.
 */
export function createCustomerQuota(
  total: number,
  ttlMs: number,
  customerMax: () => number = () => CUSTOMER_FRACTION_MAX * total,
): CustomerQuota {
  const leases = new Set<{ readonly customer: string; readonly weight: number; readonly expiryMs: number }>();
  const taken = (nowMs: number, customer?: string) => {
    let sum = 0;
    for (const lease of leases) {
      if (lease.expiryMs <= nowMs) leases.delete(lease);
      else if (customer === undefined || lease.customer === customer) sum += lease.weight;
    }
    return sum;
  };
  // A first call always fits, also where its weight alone is above the limit.
  const fits = (sum: number, weight: number, limit: number) => sum === 0 || sum + weight <= limit;
  const hasRoom: CustomerQuota["hasRoom"] = (customer, nowMs, weight = 1) =>
    fits(taken(nowMs), weight, total) && fits(taken(nowMs, customer), weight, customerMax());
  return {
    hasRoom,
    take(customer, nowMs, weight = 1) {
      if (!hasRoom(customer, nowMs, weight)) return undefined;
      const lease = { customer, weight, expiryMs: nowMs + ttlMs };
      leases.add(lease);
      return () => void leases.delete(lease);
    },
    taken: (nowMs) => taken(nowMs),
  };
}
