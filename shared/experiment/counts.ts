/**
 * Counts of exposures in the bucket, which shards write while an experiment runs that ends by itself, such as a canary:
 *
 *     customers/{customer}/events/exposures/{salt}/{shard}.json    ExposureCounts
 */
import * as z from "zod";
import type { ArmCount } from "./verdict.ts";

/** Users whose first list of the experiment came from one arm, under one revision of the shares, in one period. */
export const ExposureCount = z.object({
  arm: z.string(),
  revision: z.int().nonnegative(),
  /** When the period began, in epoch milliseconds. */
  from: z.int().nonnegative(),
  /** How active these users were before (`activityLevel`); absent: 0, or not known. */
  activity: z.int().min(0).max(7).optional(),
  exposed: z.int().nonnegative(),
  /** How many of them have reached the goal, and the guard, in time. */
  reached: z.int().nonnegative(),
  guarded: z.int().nonnegative(),
});
export type ExposureCount = Readonly<z.infer<typeof ExposureCount>>;

/** The sums over counts of one arm. */
export function armCountOf(counts: readonly ExposureCount[], goal: "reached" | "guarded"): ArmCount {
  let [exposed, reached, sum, squares, ofReached] = [0, 0, 0, 0, 0];
  for (const count of counts) {
    const { activity = 0 } = count;
    exposed += count.exposed;
    reached += count[goal];
    sum += activity * count.exposed;
    squares += activity ** 2 * count.exposed;
    ofReached += activity * count[goal];
  }
  return { exposed, reached, before: { sum, squares, ofReached } };
}

/** How long the periods of a canary's counts are, in milliseconds. */
export const CANARY_STEP_MS = 3_600_000;
/** The step of a holdout's counts. Nobody looks at its hours. */
export const HOLDOUT_STEP_MS = 24 * CANARY_STEP_MS;

const COUNTS_MAX = 20_000;
export const ExposureCounts = z.object({ format: z.literal(1), counts: z.array(ExposureCount).max(COUNTS_MAX) });
export type ExposureCounts = z.infer<typeof ExposureCounts>;

export const exposureCountsPrefix = (customer: string, salt: string) =>
  `customers/${customer}/events/exposures/${salt}/`;
export const exposureCountsKey = (customer: string, salt: string, shard: string) =>
  `${exposureCountsPrefix(customer, salt)}${shard}.json`;
