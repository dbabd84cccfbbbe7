import type { Context } from "hono";
import type { EdgeEnv } from "./edge-env.ts";

const PATH_CHARACTERS_MAX = 200;

/** Writes one line of JSON. Keys appear by their id only; users, items and bodies never. */
export function writeLog(entry: object): void {
  console.log(JSON.stringify({ time: new Date().toISOString(), ...entry }));
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
    path: c.req.path.slice(0, PATH_CHARACTERS_MAX),
    status,
    milliseconds: Math.round(milliseconds),
    customer: caller?.customer,
    key_id: caller?.keyId,
    ...c.get("ranked"),
  };
}
