import type { Context } from "hono";
import { withoutApiKeys } from "../shared/api-key.ts";
import type { EdgeEnv } from "./edge-env.ts";

const PATH_CHARACTERS_MAX = 200;
/** What follows is a user's id. */
const USERS = "/v0/users/";

/** Writes one line of JSON. Keys appear by their id only, wherever a caller has put one; users, items and bodies never. */
export function writeLog(entry: object): void {
  const line = JSON.stringify({ time: new Date().toISOString(), ...entry });
  console.log(withoutApiKeys(line));
}

/** What a request was and how it ended. */
export function requestEntry(c: Context<EdgeEnv>, milliseconds: number): object {
  const caller = c.get("caller");
  const status = c.res.status;
  return {
    event: "request",
    level: status >= 500 ? "error" : "info",
    request_id: c.get("requestId"),
    method: c.req.method,
    path: c.req.path.startsWith(USERS) ? `${USERS}…` : withoutApiKeys(c.req.path).slice(0, PATH_CHARACTERS_MAX),
    status,
    milliseconds: Math.round(milliseconds),
    customer: caller?.customer,
    key_id: caller?.keyId,
    ...c.get("ranked"),
  };
}
