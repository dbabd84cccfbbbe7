/** How a request calls the shards of its customer. */
import type { Context } from "hono";
import { shardsOf } from "../../shared/events/event-store.ts";
import type { UserId } from "../../shared/ids.ts";
import { Problem } from "../../shared/problem.ts";
import type { EdgeEnv, Isolate } from "../isolate.ts";
import { isUnreadable, type ReadAccess } from "../reading/artifact-reader.ts";
import type { RequestAccess } from "../reading/waiting.ts";
import { callShard, ShardError, type ShardNamespace, type ShardRpc } from "./shard-rpc.ts";

/** The shards of one customer. */
export type CustomerShards = {
  readonly customer: string;
  /** The binding EVENTS, if the deployment has it. */
  readonly namespace: ShardNamespace | undefined;
  /** A call that reaches several shards waits this long for all of them. */
  readonly timeoutMs: number;
};

/** The shards of the caller's customer. */
export const customerShards = (c: Context<EdgeEnv>): CustomerShards => ({
  customer: c.get("caller")!.customer,
  namespace: c.env.EVENTS,
  timeoutMs: c.get("isolate").settings.EVENTS_TIMEOUT_MS,
});

type CallOne<T> = (shard: ShardRpc, name: string) => Promise<T>;

/** Calls shards concurrently. Throws ShardError. */
export async function callShards<T>(
  shards: CustomerShards,
  names: readonly string[],
  { nowMs }: Pick<RequestAccess, "nowMs">,
  call: CallOne<T>,
): Promise<T[]> {
  const { customer, timeoutMs } = shards;
  const untilMs = nowMs() + timeoutMs;
  return Promise.all(
    names.map((shard) =>
      callShard(bindingOf(shards), { customer, shard }, { call: (rpc) => call(rpc, shard), untilMs, nowMs }),
    ),
  );
}

/** The shards that may hold events of users, each with its users: none before the first event. Throws ReadError, FormatError. */
export async function idsByShard(
  users: readonly UserId[],
  { shards, eventShards }: { readonly shards: CustomerShards } & Pick<Isolate, "eventShards">,
  access: ReadAccess,
): Promise<Map<string, UserId[]>> {
  const ofShards = new Map<string, UserId[]>();
  const list = await eventShards.of(shards.customer, access);
  for (const user of list ? users : [])
    for (const shard of await shardsOf(list!, user)) {
      const known = ofShards.get(shard);
      if (known) known.push(user);
      else ofShards.set(shard, [user]);
    }
  return ofShards;
}

/** How a call of events or users reads the bucket. */
export const accessOf = (c: Context<EdgeEnv>): ReadAccess => ({ ...c.get("access"), reader: c.get("isolate").reader });

/** Throws ShardError if the deployment has no shards. */
export function bindingOf({ namespace }: Pick<CustomerShards, "namespace">): ShardNamespace {
  if (namespace) return namespace;
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
