import { Problem } from "../../../shared/problem.ts";

export type WorkLimits = {
  /** Pieces of work in progress over all customers. */
  readonly atOnce: number;
  readonly retryAfterSeconds: number;
  /** What error texts call the work, in the singular and in the plural. */
  readonly names: readonly [one: string, several: string];
};

export type OnePerCustomer = <T>(customer: string, work: () => Promise<T>) => Promise<T>;

/**
 * Runs expensive work: one at a time for each customer, and `atOnce` of all customers.
 *
 * @throws Problem rate_limited while the customer's other work is in progress, overloaded while too many other customers have some.
 */
export function onePerCustomer({ atOnce, retryAfterSeconds, names: [one, several] }: WorkLimits): OnePerCustomer {
  const busyCustomers = new Set<string>();
  return async (customer, work) => {
    if (busyCustomers.has(customer))
      throw new Problem("rate_limited", `${one} of yours is in progress: wait for its answer.`, { retryAfterSeconds });
    if (busyCustomers.size >= atOnce)
      throw new Problem("overloaded", `${atOnce} ${several} are in progress.`, { retryAfterSeconds });
    busyCustomers.add(customer);
    try {
      return await work();
    } finally {
      busyCustomers.delete(customer);
    }
  };
}
