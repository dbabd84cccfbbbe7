/** `POST /v0/users/{user_id}/merge`: an anonymous id turns out to be a known user. */
import type { Context } from "hono";
import { MERGE_BODY_BYTES_MAX, MergeBody, parseUserIdInPath } from "../../shared/api.ts";
import { shardsOf } from "../../shared/events/event-store.ts";
import { type Merge, PERSON_IDS_MAX, personIds } from "../../shared/events/merges.ts";
import type { UserId } from "../../shared/ids.ts";
import { parseJson, parseWith, problemOf } from "../../shared/parse-request.ts";
import { Problem } from "../../shared/problem.ts";
import { requireScope } from "../auth.ts";
import type { EdgeEnv } from "../isolate.ts";
import { jsonTextOf, readBody, refuseQuery } from "../request-body.ts";
import { requireSignedUser } from "../web-page-keys.ts";
import { accessOf, bindingOf, callShards, eventsOrProblem } from "./call-shards.ts";
import { NO_EVENTS, type Person, personOf, personSources } from "./person.ts";

export async function mergeUsers(c: Context<EdgeEnv>): Promise<Response> {
  const caller = c.get("caller")!;
  requireScope(caller, "events");
  refuseQuery(c.req.url);
  const user = parseUserIdInPath(new URL(c.req.url).pathname.split("/")[3]!);
  const body = await readBody(c.req.raw, MERGE_BODY_BYTES_MAX);
  const given = parseWith(MergeBody, parseJson(jsonTextOf(body, c.req.header("content-type") ?? null)));
  const from = given.from as UserId;
  if (from === user)
    throw problemOf([{ pointer: "/from", code: "invalid_parameter", message: "must be another id than user_id" }]);
  await requireSignedUser(caller, user, c.req.header("x-user-signature"));
  await requireSignedUser(caller, from, c.req.header("x-from-signature"), "x-from-signature");
  const detail = "Users cannot be merged right now. Repeating the call is safe";
  return c.json(await eventsOrProblem(detail, () => merge(c, { user, from })));
}

type Merging = { readonly user: UserId; readonly from: UserId };

/**
 * Links every id of both persons to the end of the user's chain, in the shards of both ids. What is there already stays, so that a
 * repeated call completes one that was cut off. Throws ReadError, FormatError, ShardError, Problem quota_exceeded.
 */
async function merge(c: Context<EdgeEnv>, { user, from }: Merging) {
  const { eventShards, erased, bucket } = c.get("isolate");
  const [sources, access] = [personSources(c), accessOf(c)];
  const { customer } = sources.shards;
  bindingOf(sources.shards);
  const list = await eventShards.create(customer, bucket, access);
  for (const id of [user, from])
    if (await erased.isErased(customer, id, access)) return { user_id: user, from, changed: false }; // as events of erased users
  const [into, other] = await Promise.all([user, from].map((id) => personOf(id, sources, access, NO_EVENTS)));
  const target = personIds(into!.merges).get(user) ?? user;
  const ids = new Set([...into!.ids, ...other!.ids]);
  if (ids.size > PERSON_IDS_MAX)
    throw new Problem(
      "quota_exceeded",
      `A person has at most ${PERSON_IDS_MAX} ids; these two have ${ids.size} together.`,
    );
  const known = knownLinks([into!, other!]);
  const missing = new Map<string, Merge[]>(); // by shard
  const ofTarget = await shardsOf(list, target);
  for (const id of ids) {
    if (id === target) continue;
    for (const shards of [await shardsOf(list, id), ofTarget]) {
      if (shards.some((shard) => known.has(linkOf(shard, id, target)))) continue;
      const newest = shards[0]!;
      missing.set(newest, [...(missing.get(newest) ?? []), { from: id, to: target }]);
    }
  }
  const names = [...missing.keys()];
  await callShards(sources.shards, names, access, (rpc, shard) => rpc.merge({ customer, shard }, missing.get(shard)!));
  return { user_id: target, from, changed: names.length > 0 };
}

/** The links that shards have already, in either direction. */
function knownLinks(persons: readonly Person[]): Set<string> {
  const found = persons.flatMap(({ merges }) => merges);
  return new Set(found.flatMap(({ shard, from, to }) => [linkOf(shard, from, to), linkOf(shard, to, from)]));
}

const linkOf = (shard: string, a: UserId, b: UserId) => JSON.stringify([shard, a, b]);
