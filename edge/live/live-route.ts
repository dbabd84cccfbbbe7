/** `GET /v0/live` */
import type { Context } from "hono";
import { requireScope } from "../auth.ts";
import { callShards, customerShards, eventsOrProblem } from "../events/call-shards.ts";
import { shownEvent } from "../events/events-route.ts";
import type { LiveCounts } from "../events/shard-rpc.ts";
import type { EdgeEnv } from "../isolate.ts";
import { refuseQuery } from "../request-body.ts";
import {
  addAll,
  addMinute,
  CALLS_OBJECT,
  type CallMinute,
  type Counts,
  emptyMinute,
  MINUTE_MS,
  minuteOf,
  percentilesOf,
} from "./counts.ts";

const MINUTES = 60;
const NEWEST_MAX = 20;

const SOURCES = {
  events: "Counted from the rows of all shards, by the minute in which events arrived.",
  lists:
    "Counted by the Worker's isolates, which send their counts every few seconds. Counts of an isolate that ends before are missing.",
  refusals:
    "Counted like lists. Calls without a valid key belong to no customer, and the trainer's own refusals are not counted.",
  latency_ms:
    "From a call's arrival at the Worker to its answer. Once deployed, a Worker's clock stands still while it computes, so this is the " +
    "time of waiting for bucket, shards and queue. Time on the network is not in it.",
};

type Found = { readonly shards: readonly LiveCounts[]; readonly calls: readonly CallMinute[] };

/** The customer's last hour. Throws Problem insufficient_scope, unknown_field, events_unavailable. */
export async function viewLive(c: Context<EdgeEnv>): Promise<Response> {
  const caller = c.get("caller")!;
  requireScope(caller, "manage");
  refuseQuery(c.req.url);
  const { customer } = caller;
  const { eventShards, erased, reader } = c.get("isolate");
  const access = { ...c.get("access"), reader };
  const ofCustomer = customerShards(c);
  const firstMinute = minuteOf(access.nowMs()) - MINUTES + 1;
  const detail = "The counts of the last hour cannot be read right now";
  const { found, newest } = await eventsOrProblem(detail, async () => {
    const [shards, [calls]] = await Promise.all([
      callShards(ofCustomer, await eventShards.all(customer, access), access, (rpc) => rpc.liveCounts(firstMinute)),
      callShards(ofCustomer, [CALLS_OBJECT], access, (rpc) => rpc.callsFrom(firstMinute)),
    ]);
    const newest = shards
      .flatMap((shard) => shard.newest)
      .sort((a, b) => b.at - a.at)
      .slice(0, NEWEST_MAX);
    const isErased = await Promise.all(newest.map(({ user_id }) => erased.isErased(customer, user_id, access)));
    return { found: { shards, calls: calls! }, newest: newest.filter((_, at) => !isErased[at]) };
  });
  const hour = emptyMinute(0);
  for (const minute of found.calls) addMinute(hour, minute);
  const uncountedMs = Math.max(0, ...found.shards.map((shard) => shard.uncountedMs));
  return c.json({
    minutes: shownMinutes(found, firstMinute),
    latency_ms: percentilesOf(hour.latency),
    events_from: timeOf(Math.max(firstMinute, minuteOf(uncountedMs) + 1)),
    newest_events: newest.map((event) => ({
      user_id: event.user_id,
      arrived_at: new Date(event.at).toISOString(),
      ...shownEvent(event),
    })),
    sources: SOURCES,
  });
}

function shownMinutes({ shards, calls }: Found, firstMinute: number): object[] {
  const events = new Map<number, Counts>();
  for (const counted of shards.flatMap(({ minutes }) => minutes)) {
    const sum = events.get(counted.minute) ?? {};
    addAll(sum, counted.events);
    events.set(counted.minute, sum);
  }
  const callsOf = new Map(calls.map((call) => [call.minute, call]));
  return Array.from({ length: MINUTES }, (_, at) => {
    const minute = firstMinute + at;
    const { lists, refusals, latency } = callsOf.get(minute) ?? emptyMinute(minute);
    return {
      at: timeOf(minute),
      events: events.get(minute) ?? {},
      lists,
      refusals,
      latency_ms: percentilesOf(latency),
    };
  });
}

const timeOf = (minute: number): string => new Date(minute * MINUTE_MS).toISOString();
