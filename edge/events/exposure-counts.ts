/** The counts of experiments that end by themselves, which a shard writes into the bucket for the trainer. */
import { type ExposureCounts, exposureCountsKey } from "../../shared/experiment/counts.ts";
import { within } from "../reading/waiting.ts";
import { countExposures, experimentsOf, removeExposures } from "./exposures.ts";
import type { ShardPlace } from "./shard-rpc.ts";
import type { ShardTables } from "./shard-tables.ts";

const WRITE_MS_MAX = 30_000;
/** How long the counts of an experiment that has ended stay in the bucket. */
const KEPT_MS = 60 * 24 * 3_600_000;

/**
 * Writes the counts that have changed, and removes the users of experiments that no event can change any more.
 *
 * @returns When there is something to remove next, in epoch milliseconds; Infinity: never.
 */
export async function exportCounts(
  tables: ShardTables,
  bucket: Pick<R2Bucket, "put" | "delete">,
  { customer, shard }: ShardPlace,
  nowMs: number,
): Promise<number> {
  let nextMs = Number.POSITIVE_INFINITY;
  for (const { salt, endsMs, stepMs, countedUntilMs } of experimentsOf(tables)) {
    if (endsMs === undefined || stepMs === undefined) continue;
    const key = exposureCountsKey(customer, salt, shard);
    const state = `counts/${salt}` as const;
    if (nowMs > endsMs + KEPT_MS) {
      await within(WRITE_MS_MAX, `deleting ${key}`, bucket.delete(key));
      removeExposures(tables, salt);
      continue;
    }
    const written = tables.state(state);
    nextMs = Math.min(nextMs, written === "final" || nowMs > countedUntilMs ? endsMs + KEPT_MS : countedUntilMs);
    if (written === "final") continue;
    const counts: ExposureCounts = { format: 1, counts: countExposures(tables, salt, stepMs) };
    const text = JSON.stringify(counts);
    if (text !== written) {
      await within(WRITE_MS_MAX, `writing ${key}`, bucket.put(key, text));
      tables.setState(state, text);
    }
    if (nowMs <= countedUntilMs) continue;
    tables.query("DELETE FROM exposures WHERE salt = ?", salt);
    tables.setState(state, "final");
  }
  return nextMs;
}
