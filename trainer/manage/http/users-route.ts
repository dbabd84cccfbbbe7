/** The call that erases a user from all of a customer's models. */
import type { Context } from "hono";
import { parseUserIdInPath } from "../../../shared/api.ts";
import { withoutApiKeys } from "../../../shared/api-key.ts";
import { ERASED_WITHIN_SECONDS } from "../../../shared/erased-users.ts";
import type { Erasures } from "../records/erasures.ts";
import type { AppEnv } from "./models-route.ts";

const PREFIX = "/v0/users/";

export const USER_ROUTES = [{ path: `${PREFIX}:user_id`, methods: { DELETE: "eraseUser" } }] as const;

export type UserRoutes = { readonly eraseUser: (c: Context<AppEnv>) => Promise<Response> };

export function userRoutes(erasures: Erasures, nowMs: () => number): UserRoutes {
  return {
    async eraseUser(c) {
      const user = parseUserIdInPath(new URL(c.req.url).pathname.slice(PREFIX.length));
      await erasures.erase(c.get("caller").customer, user);
      const honouredBy = new Date(nowMs() + ERASED_WITHIN_SECONDS * 1000).toISOString();
      const message = `User '${user}' is erased: ranked for as unknown by ${honouredBy}, and left out of every training that begins now`;
      return c.json({ message, user_id: user, honoured_by: honouredBy }, 202);
    },
  };
}

/** The path of a request for the log, without user ids and without parts of API keys. */
export const pathForLog = (path: string): string =>
  path.startsWith(PREFIX) ? `${PREFIX}…` : withoutApiKeys(path).slice(0, 200);
