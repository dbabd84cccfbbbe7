import { Problem } from "../../../shared/problem.ts";

export type Places = {
  readonly atOnce: number;
  readonly retryAfterSeconds: number;
  /** What takes a place, in the singular and in the plural. */
  readonly names: readonly [one: string, several: string];
};

export type OnePerCustomer = <T>(customer: string, work: () => Promise<T>) => Promise<T>;

/**
 * Runs what costs much: one at a time for each customer, and `atOnce` of all.
 *
 * @throws Problem rate_limited while the customer has one under way, overloaded while too many others are.
 */
export function onePerCustomer({ atOnce, retryAfterSeconds, names: [one, several] }: Places): OnePerCustomer {
  const underWay = new Set<string>(); // customers
  return async (customer, work) => {
    if (underWay.has(customer))
      throw new Problem("rate_limited", `${one} of yours is under way: wait for its answer.`, { retryAfterSeconds });
    if (underWay.size >= atOnce)
      throw new Problem("overloaded", `${atOnce} ${several} are under way.`, { retryAfterSeconds });
    underWay.add(customer);
    try {
      return await work();
    } finally {
      underWay.delete(customer);
    }
  };
}
