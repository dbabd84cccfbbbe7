/** The calls that store, show and erase users' events. */
import type { Context } from "hono";
import { parseUserIdInPath } from "../../shared/api.ts";
import {
  EVENTS_BODY_BYTES_MAX,
  EventsBody,
  FUTURE_SECONDS_MAX,
  RETENTION_DAYS_DEFAULT,
  type StoredEvent,
} from "../../shared/events/event.ts";
import { shardsOf } from "../../shared/events/event-store.ts";
import type { ItemId, UserId } from "../../shared/ids.ts";
import { parseJson, parseWith, problemOf } from "../../shared/parse-request.ts";
import { Problem, type ProblemPart } from "../../shared/problem.ts";
import { requireScope } from "../auth.ts";
import type { EdgeEnv } from "../isolate.ts";
import { idempotencyKeyOf, jsonTextOf, readBody, refuseQuery } from "../request-body.ts";
import { requireSignedUser } from "../web-page-keys.ts";
import { accessOf, bindingOf, callShards, customerShards, eventsOrProblem, idsByShard } from "./call-shards.ts";
import { NO_EVENTS, personOf, personSources } from "./person.ts";
import {
  type Appended,
  callShard,
  type EventsOfUser,
  type NewEvent,
  type ShardPlace,
  type ShardRpc,
} from "./shard-rpc.ts";

/** Limit on the events of a user that a call shows. */
const SHOWN_MAX = 500;
const SECONDS_OF_A_DAY = 86_400;
const FULL_RETRY_SECONDS = 3600;

type SentEvent = ReturnType<typeof eventsIn>[number];

/** `POST /v0/events` */
export async function postEvents(c: Context<EdgeEnv>): Promise<Response> {
  requireScope(c.get("caller")!, "events");
  refuseQuery(c.req.url);
  const { eventBodies } = c.get("isolate");
  const release = eventBodies.take(c.get("caller")!.customer, c.get("access").nowMs());
  if (release === undefined)
    throw new Problem("overloaded", "Too many calls that send events at once. Try again.", { retryAfterSeconds: 1 });
  try {
    const body = await readBody(c.req.raw, EVENTS_BODY_BYTES_MAX);
    const json = parseJson(jsonTextOf(body, c.req.header("content-type") ?? null));
    const events = eventsIn(json, Math.floor(c.get("access").nowMs() / 1000));
    const users = new Set(events.map(({ user_id }) => user_id));
    for (const user of users) await requireSignedUser(c.get("caller")!, user, c.req.header("x-user-signature"));
    const detail =
      "Events cannot be stored right now. Some may be stored already, so repeat the call with the same ids";
    return c.json(await eventsOrProblem(detail, () => store(c, events)));
  } finally {
    release();
  }
}

/** `GET /v0/users/{user_id}/events` */
export async function viewUserEvents(c: Context<EdgeEnv>): Promise<Response> {
  const { customer } = c.get("caller")!;
  requireScope(c.get("caller")!, "manage");
  refuseQuery(c.req.url);
  const user = parseUserIdInPath(new URL(c.req.url).pathname.split("/")[3]!);
  const access = accessOf(c);
  const found = await eventsOrProblem("Events cannot be read right now", async () => {
    if (await c.get("isolate").erased.isErased(customer, user, access)) return [];
    const sources = personSources(c);
    const { ids } = await personOf(user, sources, access, NO_EVENTS);
    const ofShards = await idsByShard(ids, sources, access);
    return callShards(sources.shards, [...ofShards.keys()], access, (rpc, shard) =>
      rpc.eventsOf(ofShards.get(shard)!, SHOWN_MAX),
    );
  });
  const newestFirst = found.flat().sort((a, b) => b.created_at - a.created_at);
  return c.json({ user_id: user, events: newestFirst.slice(0, SHOWN_MAX).map(shownEvent) });
}

/** The events of a request, with ids and times. Throws one Problem that names every fault. */
function eventsIn(json: unknown, nowSeconds: number) {
  const { events } = parseWith(EventsBody, json);
  const faults = events.flatMap(({ created_at = nowSeconds }, i): ProblemPart[] => {
    const message = timeFault(created_at - nowSeconds);
    return message ? [{ pointer: `/events/${i}/created_at`, code: "invalid_parameter", message }] : [];
  });
  if (faults.length > 0) throw problemOf(faults);
  return events.map((event) => ({ ...event, created_at: Math.floor(event.created_at ?? nowSeconds) }));
}

function timeFault(secondsAhead: number): string | undefined {
  if (secondsAhead > FUTURE_SECONDS_MAX) return `must be at most ${FUTURE_SECONDS_MAX} seconds in the future`;
  const isOld = secondsAhead < -RETENTION_DAYS_DEFAULT * SECONDS_OF_A_DAY;
  return isOld ? `must be at most ${RETENTION_DAYS_DEFAULT} days in the past` : undefined;
}

/** Stores events in the shards of their users. Events of erased users are dropped. Throws ReadError, FormatError, ShardError, Problem. */
async function store(c: Context<EdgeEnv>, events: readonly SentEvent[]) {
  const { eventShards, erased } = c.get("isolate");
  const { customer } = c.get("caller")!;
  const { timeoutMs, ...shardsOfCustomer } = customerShards(c);
  const [shards, access] = [bindingOf(shardsOfCustomer), accessOf(c)];
  const idempotencyKey = idempotencyKeyOf(c.req.raw);
  const idOf = ({ event_id }: SentEvent, i: number) =>
    event_id ?? (idempotencyKey === "" ? crypto.randomUUID() : `${idempotencyKey}:${i}`);
  erased.prefetch(customer, access); // at the same time as the list of shards
  const list = await eventShards.create(customer, c.env.MODELS, access);
  const ofUsers = Map.groupBy(
    events.map((event, i) => ({ event, id: idOf(event, i) })),
    ({ event }) => event.user_id as UserId,
  );
  const batches = new Map<string, EventsOfUser[]>(); // by shard
  const earlier = new Map<string, EventsOfUser[]>(); // by shard of an older generation, which may have some of the events
  let dropped = 0;
  for (const [user, sent] of ofUsers) {
    if (await erased.isErased(customer, user, access)) {
      dropped += sent.length;
      continue;
    }
    const ofUser = { user, events: sent.map(({ event, id }) => newEvent(event, id)) };
    const [newest, ...older] = await shardsOf(list, user);
    addTo(batches, newest!, ofUser);
    for (const shard of older) addTo(earlier, shard, ofUser);
  }
  const untilMs = access.nowMs() + timeoutMs;
  const askAll = <T>(
    of: typeof batches,
    call: (rpc: ShardRpc, place: ShardPlace, batch: EventsOfUser[]) => Promise<T>,
  ) =>
    Promise.all(
      [...of].map(([shard, batch]) => {
        const place = { customer, shard };
        return callShard(shards, place, { call: (rpc) => call(rpc, place, batch), untilMs, nowMs: access.nowMs });
      }),
    );
  const known = new Map<UserId, string[]>();
  await askAll(earlier, async (rpc, _place, batch) => {
    for (const [i, ids] of (await rpc.knownIds(batch)).entries())
      known.set(batch[i]!.user, [...(known.get(batch[i]!.user) ?? []), ...ids]);
  });
  const unknownOf = ({ user, events }: EventsOfUser) => {
    const ids = new Set(known.get(user));
    return { user, events: events.filter(({ event_id }) => !ids.has(event_id)) };
  };
  const answers = await askAll(batches, (rpc, place, batch) => rpc.append(place, batch.map(unknownOf)));
  return sumOf(answers, { dropped, events });
}

function addTo(byShard: Map<string, EventsOfUser[]>, shard: string, ofUser: EventsOfUser): void {
  const batch = byShard.get(shard);
  if (batch) batch.push(ofUser);
  else byShard.set(shard, [ofUser]);
}

const newEvent = (event: SentEvent, id: string): NewEvent => ({
  event_id: id,
  item_id: event.item_id as ItemId,
  type: event.type,
  created_at: event.created_at,
  value: event.value ?? null,
  rank_id: event.rank_id ?? null,
});

type Sent = { readonly dropped: number; readonly events: readonly SentEvent[] };

/** Throws Problem rate_limited. */
function sumOf(answers: readonly Appended[], { dropped, events }: Sent) {
  const full = new Set(answers.flatMap((answer) => ("full" in answer ? answer.full : [])));
  if (full.size > 0) {
    const message = "has more recent events than are stored of one user. Leave out the events of this user";
    const errors = events.flatMap(({ user_id }, i): ProblemPart[] =>
      full.has(user_id as UserId) ? [{ pointer: `/events/${i}/user_id`, code: "rate_limited", message }] : [],
    );
    const detail = `${errors[0]!.pointer} ${message}.`;
    throw new Problem("rate_limited", detail, { errors: errors.slice(0, 50), retryAfterSeconds: FULL_RETRY_SECONDS });
  }
  const accepted = answers.reduce((sum, answer) => sum + ("full" in answer ? 0 : answer.accepted), dropped);
  return { accepted, duplicates: events.length - accepted };
}

export const shownEvent = ({ event_id, item_id, type, created_at, value, rank_id }: StoredEvent): object => ({
  event_id,
  item_id,
  type,
  created_at: new Date(created_at * 1000).toISOString(),
  ...(value !== null && { value }),
  ...(rank_id !== null && { rank_id }),
});
