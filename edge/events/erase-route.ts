/** The calls that erase a user: all ids of the person, everywhere. */
import type { Context } from "hono";
import * as z from "zod";
import { forEachConcurrently } from "../../shared/concurrently.ts";
import type { UserId } from "../../shared/ids.ts";
import { manage, manageBy } from "../forward.ts";
import type { EdgeEnv } from "../isolate.ts";
import { accessOf, callShards, eventsOrProblem, idsByShard } from "./call-shards.ts";
import { NO_EVENTS, personOf, personSources } from "./person.ts";

const UserInAnswer = z.object({ user_id: z.string().transform((id) => id as UserId) });
const ERASED_AT_ONCE = 4;
const DETAIL = "The user is erased from all models, but the user's events cannot be removed right now";

/**
 * The trainer writes the list of erased users: first the id of the call, then each id that was merged with it. This isolate reads the list
 * again for its next call. The shards forget the merges an hour after the events, so that a repeated call finds all ids.
 */
export async function eraseUser(c: Context<EdgeEnv>): Promise<Response> {
  const answer = await manage(c);
  const { erased } = c.get("isolate");
  const invalidate = () => erased.invalidate(c.get("caller")!.customer, c.get("access").nowMs());
  invalidate();
  if (!answer.ok || c.env.EVENTS === undefined) return answer;
  const { user_id: user } = UserInAnswer.parse(await answer.clone().json());
  const [sources, access] = [personSources(c), accessOf(c)];
  const { ids } = await eventsOrProblem(DETAIL, () => personOf(user, sources, access, NO_EVENTS));
  let refusal: Response | undefined;
  await forEachConcurrently(ids.slice(1), ERASED_AT_ONCE, async (id) => {
    const other = refusal ?? (await manageBy(c, erasureOf(c, id)));
    if (!other.ok) refusal = other;
  });
  invalidate();
  if (refusal) return refusal;
  await eventsOrProblem(DETAIL, async () => {
    const ofShards = await idsByShard(ids, sources, access);
    await callShards(sources.shards, [...ofShards.keys()], access, (rpc, shard) => rpc.erase(ofShards.get(shard)!));
  });
  return answer;
}

const erasureOf = (c: Context<EdgeEnv>, user: UserId) =>
  new Request(new URL("/v0/users/erase", c.req.url), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ user_id: user }),
  });
