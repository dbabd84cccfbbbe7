import type { Context } from "hono";
import { withoutApiKeys } from "../shared/api-key.ts";
import { traceIdIn } from "../shared/trace-parent.ts";
import type { EdgeEnv } from "./isolate.ts";

const PATH_CHARACTERS_MAX = 200;
/** A user's id follows in the path. */
const USERS = "/v0/users/";

/** Writes one line of JSON. API keys are replaced, wherever a caller has put one. Entries never hold users, items or bodies. */
export function writeLog(entry: object): void {
  const line = JSON.stringify({ time: new Date().toISOString(), ...entry });
  console.log(withoutApiKeys(line));
}

/**
 * The log entry of a request.
 * @param waitedMs From the request's arrival to its last I/O. The clock stands still while the Worker computes, so more is not known.
 */
export function requestEntry(c: Context<EdgeEnv>, waitedMs: number): object {
  const caller = c.get("caller");
  const status = c.res.status;
  return {
    event: "request",
    level: status >= 500 ? "error" : "info",
    request_id: c.get("requestId"),
    trace_id: traceIdIn(c.get("traceParent")),
    method: c.req.method,
    path: c.req.path.startsWith(USERS) ? `${USERS}…` : withoutApiKeys(c.req.path).slice(0, PATH_CHARACTERS_MAX),
    status,
    waited_ms: Math.round(waitedMs),
    customer: caller?.customer,
    key_id: caller?.keyId,
    ...c.get("ranked"),
  };
}
