/** The call that erases a user from all of a customer's models. */
import { parseUserIdInPath } from "../../../shared/api.ts";
import { ERASED_WITHIN_SECONDS } from "../../../shared/erased-users.ts";
import type { Erasures } from "../records/erasures.ts";
import type { Route } from "./app.ts";

const PREFIX = "/v0/users/";

export function userRoute(erasures: Erasures, nowMs: () => number): Route {
  const erase: Route["methods"][string] = async (c) => {
    const user = parseUserIdInPath(new URL(c.req.url).pathname.slice(PREFIX.length));
    await erasures.erase(c.get("caller").customer, user);
    const honouredBy = new Date(nowMs() + ERASED_WITHIN_SECONDS * 1000).toISOString();
    const message = `User '${user}' is erased: ranked for as unknown by ${honouredBy}, and left out of every training that begins now`;
    return c.json({ message, user_id: user, honoured_by: honouredBy }, 202);
  };
  return { path: `${PREFIX}:user_id`, methods: { DELETE: erase } };
}
