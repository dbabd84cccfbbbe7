import type { Context } from "hono";
import { type LiveEvent, withLiveEvents } from "../../shared/events/live-events.ts";
import type { UserId } from "../../shared/ids.ts";
import { Problem } from "../../shared/problem.ts";
import type { UserRecord } from "../../shared/snapshot.ts";
import type { EdgeEnv } from "../isolate.ts";
import { isUnreadable, type ReadAccess } from "../reading/artifact-reader.ts";
import { writeLog } from "../request-log.ts";
import type { WaitingModel } from "../versions/live-pointers.ts";
import type { LoadedVersion } from "../versions/load-version.ts";
import { POPULAR_MAX } from "./popular-items.ts";
import { callShard, ShardError, type ShardNamespace, type ShardRpc } from "./shard-rpc.ts";

type Reading = { readonly userId: UserId | undefined; readonly access: ReadAccess };

/**
 * The events of the call's user that the version has not learnt. Undefined if the version listens to no events, or the call has no user.
 * Throws Problem events_unavailable, unless the operator prefers a list without events.
 */
export async function liveEventsOf(
  c: Context<EdgeEnv>,
  { manifest }: LoadedVersion,
  { userId, access }: Reading,
): Promise<LiveEvent[] | undefined> {
  if (!manifest.events || userId === undefined) return undefined;
  const { learnt } = manifest.events;
  const { customer } = c.get("caller")!;
  const { erased, settings } = c.get("isolate");
  const read = async () => {
    const found = await callShardsOfUser(c, userId, {
      access,
      call: (rpc, shard) => rpc.liveEvents(userId, learnt[shard] ?? 0),
    });
    return (await erased.isErased(customer, userId, access)) ? [] : found.reverse().flat();
  };
  try {
    return await eventsOrProblem("What this user has done lately cannot be read right now, so nothing is ranked", read);
  } catch (error) {
    if (!settings.SERVE_WITHOUT_EVENTS || !(error instanceof Problem)) throw error;
    c.header("x-events", "unavailable");
    const request_id = c.get("requestId");
    writeLog({ event: "served_without_events", level: "warning", request_id, error: String(error.cause) });
    return undefined;
  }
}

/** The user's record with live events. */
export function withEvents(
  c: Context<EdgeEnv>,
  { manifest, catalog }: LoadedVersion,
  { record, live }: { readonly record: UserRecord | undefined; readonly live: readonly LiveEvent[] | undefined },
): UserRecord | undefined {
  if (live === undefined) return record;
  const merged = withLiveEvents(record, live, { meanings: manifest.events!.meanings, indexOf: catalog.indexOf });
  c.header("x-events", String(merged.used));
  return merged.record;
}

/** Limit on the counts that are read from all shards together. */
const COUNTS_MAX = 16_000;

/**
 * The stand-in for a model's first version: popular items by live counts. Throws Problem model_not_active before the first
 * positive event, events_unavailable.
 */
export async function popularVersion(
  c: Context<EdgeEnv>,
  model: WaitingModel,
  access: ReadAccess,
): Promise<LoadedVersion> {
  const { eventShards, popular } = c.get("isolate");
  const count = async (types: readonly string[]) => {
    const names = await eventShards.all(model.customer, access);
    const limit = Math.min(POPULAR_MAX, Math.ceil(COUNTS_MAX / names.length));
    return (await callShards(c, names, { access, call: (rpc) => rpc.popularItems(types, limit) })).flat();
  };
  const detail = "Events cannot be counted right now, so nothing is ranked";
  const version = await eventsOrProblem(detail, () => popular.versionOf(model, count, access));
  if (version === undefined) throw model.notActive;
  return version;
}

type CallOptions<T> = {
  readonly access: ReadAccess;
  readonly call: (shard: ShardRpc, name: string) => Promise<T>;
};

/**
 * Calls all shards that may hold events of the user, the newest generation first: none before the customer's first event. Throws ReadError,
 * FormatError, ShardError.
 */
export async function callShardsOfUser<T>(c: Context<EdgeEnv>, user: UserId, options: CallOptions<T>): Promise<T[]> {
  const { customer } = c.get("caller")!;
  return callShards(c, await c.get("isolate").eventShards.shardsOf(customer, user, options.access), options);
}

/** Calls shards concurrently. Throws ShardError. */
export async function callShards<T>(
  c: Context<EdgeEnv>,
  names: readonly string[],
  { access: { nowMs }, call }: CallOptions<T>,
): Promise<T[]> {
  const { customer } = c.get("caller")!;
  const untilMs = eventsUntilMs(c);
  return Promise.all(
    names.map((shard) =>
      callShard(shardBinding(c), { customer, shard }, { call: (rpc) => call(rpc, shard), untilMs, nowMs }),
    ),
  );
}

/** When a call stops waiting for shards. */
export const eventsUntilMs = (c: Context<EdgeEnv>): number =>
  c.get("access").nowMs() + c.get("isolate").settings.EVENTS_TIMEOUT_MS;

/** Throws ShardError if the deployment has no shards. */
export function shardBinding(c: Context<EdgeEnv>): ShardNamespace {
  if (c.env.EVENTS) return c.env.EVENTS;
  throw new ShardError("wrangler.toml has no binding EVENTS: see edge/README.md");
}

/** The result of `work`, or Problem events_unavailable if shards or the bucket do not answer. */
export async function eventsOrProblem<T>(detail: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (!isUnreadable(cause) && !(cause instanceof ShardError)) throw cause;
    throw new Problem("events_unavailable", `${detail}. Try again.`, { cause, retryAfterSeconds: 2 });
  }
}
