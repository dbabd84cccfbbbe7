/**
 * One data point for each ranked list, for dashboards and alerts by SQL. Cloudflare's Analytics Engine takes them without a wait; a
 * deployment without the binding CALL_ANALYTICS writes none.
 */
import type { Context } from "hono";
import type { EdgeEnv } from "../isolate.ts";
import { writeLog } from "../request-log.ts";

const RANK_PATH = /^\/v0\/models\/([A-Za-z0-9][A-Za-z0-9_.-]{0,62})\/(rank|similar_items)$/;

/**
 * Writes index1: customer; blob1: model, blob2: strategy, blob3: status, blob4: code of the problem, blob5: version, blob6: rank or
 * similar_items; double1: milliseconds that the call waited, double2: items. Calls without a known key are not written.
 */
export function writeCallPoint(c: Context<EdgeEnv>, waitedMs: number): void {
  const [caller, dataset] = [c.get("caller"), c.env.CALL_ANALYTICS];
  if (caller === undefined || dataset === undefined) return;
  const [, model, call] = RANK_PATH.exec(c.req.path) ?? [];
  if (model === undefined) return;
  const { strategy = "", version = "", item_count = 0 } = c.get("ranked") ?? {};
  const blobs = [model, String(strategy), String(c.res.status), c.get("refusal") ?? "", String(version), call!];
  try {
    dataset.writeDataPoint({ indexes: [caller.customer], blobs, doubles: [waitedMs, Number(item_count)] });
  } catch (error) {
    writeLog({
      event: "call_point_not_written",
      level: "warning",
      request_id: c.get("requestId"),
      error: String(error),
    });
  }
}
