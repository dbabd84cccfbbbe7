/** The call that erases a user from all of a customer's models. */
import type { Context } from "hono";
import { EraseRequest, parseUserIdInPath } from "../../../shared/api.ts";
import { ERASED_WITHIN_SECONDS } from "../../../shared/erased-users.ts";
import type { UserId } from "../../../shared/ids.ts";
import { parseWith } from "../../../shared/parse-request.ts";
import type { Erasures } from "../records/erasures.ts";
import type { AppEnv, Route } from "./app.ts";
import { jsonOf } from "./read-request.ts";

const PREFIX = "/v0/users/";

export function userRoutes(erasures: Erasures, nowMs: () => number): readonly Route[] {
  const erase = async (c: Context<AppEnv>, user: UserId) => {
    await erasures.erase(c.get("caller").customer, user);
    const honouredBy = new Date(nowMs() + ERASED_WITHIN_SECONDS * 1000).toISOString();
    const message = `User '${user}' is erased: ranked for as unknown by ${honouredBy}, and left out of every training that begins now`;
    return c.json({ message, user_id: user, honoured_by: honouredBy }, 202);
  };
  const inPath = (c: Context<AppEnv>) => erase(c, parseUserIdInPath(new URL(c.req.url).pathname.slice(PREFIX.length)));
  const inBody = (c: Context<AppEnv>) => {
    const body = jsonOf(c.get("body"), c.req.header("content-type"));
    return erase(c, parseWith(EraseRequest, body).user_id as UserId);
  };
  return [
    { path: `${PREFIX}erase`, methods: { POST: inBody } },
    { path: `${PREFIX}:user_id`, methods: { DELETE: inPath } },
  ];
}
