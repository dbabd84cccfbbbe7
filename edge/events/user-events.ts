/** The events of one user in the tables of a shard. */
import type { StoredEvent } from "../../shared/events/event.ts";
import type { UserId } from "../../shared/ids.ts";
import type { Appended, EventsOfUser, NewEvent } from "./shard-rpc.ts";
import { eventsOfRow, type Row, type ShardTables } from "./shard-tables.ts";

/** Limit on the events of one user in a shard. */
const USER_EVENTS_MAX = 10_000;

/** Stores the events that are not stored yet, or returns the users who would have too many. Drops events of erased users. */
export function appendEvents(tables: ShardTables, batch: readonly EventsOfUser[], nowMs: number): Appended {
  const known = batch.filter(({ user }) => !isErased(tables, user, nowMs));
  const fresh = known.map(({ user, events }) => ({ user, events: unknownOf(tables, { user, events }) }));
  const added = fresh.filter(({ events }) => events.length > 0);
  const full = added.filter(({ user, events }) => countOf(tables, user) + events.length > USER_EVENTS_MAX);
  if (full.length > 0) return { full: full.map(({ user }) => user) };
  let seq = tables.lastSeq;
  for (const { user, events } of added) tables.insert({ seq: ++seq, user, at: nowMs, events, ids: idsOf(events) });
  const duplicates = sizeOf(known) - sizeOf(fresh);
  return { accepted: sizeOf(batch) - duplicates, duplicates };
}

const AMONG = "user IN (SELECT value FROM json_each(?)) AND seq > ?";

/** The users' events with higher numbers, the first stored first; `too_many` if there are more than `max`. */
export function eventsAfter(
  tables: ShardTables,
  users: readonly UserId[],
  { seq, max }: { readonly seq: number; readonly max: number },
): StoredEvent[] | "too_many" {
  const list = JSON.stringify(users);
  // One user has few enough, since the shard has refused the others.
  const isMany =
    users.length > 1 && tables.numberIn(`SELECT SUM(count) AS value FROM batches WHERE ${AMONG}`, list, seq) > max;
  if (isMany) return "too_many";
  return tables
    .query<Row>(`SELECT seq, user, events FROM batches WHERE ${AMONG} ORDER BY seq`, list, seq)
    .flatMap(eventsOfRow)
    .filter((event) => event.seq > seq);
}

/** Removes the user's events, and drops those that arrive until a time. */
export function eraseUser(tables: ShardTables, user: UserId, untilMs: number): void {
  tables.query("DELETE FROM batches WHERE user = ?", user);
  tables.query("DELETE FROM exposures WHERE user = ?", user);
  tables.query("INSERT OR REPLACE INTO erased VALUES (?, ?)", user, untilMs);
}

export function forgetErased(tables: ShardTables, nowMs: number): void {
  tables.query("DELETE FROM erased WHERE until <= ?", nowMs);
}

export const isErased = (tables: ShardTables, user: UserId, nowMs: number) =>
  tables.numberIn("SELECT COUNT(*) AS value FROM erased WHERE user = ? AND until > ?", user, nowMs) > 0;

const countOf = (tables: ShardTables, user: UserId) =>
  tables.numberIn("SELECT SUM(count) AS value FROM batches WHERE user = ?", user);

/** The ids of the given events that are already stored for the user. */
export const knownIdsOf = (tables: ShardTables, { user, events }: EventsOfUser): string[] =>
  tables
    .query<{ value: string }>(
      `SELECT DISTINCT id.value FROM batches, json_each(batches.ids) AS id
       WHERE user = ? AND id.value IN (SELECT value FROM json_each(?))`,
      user,
      idsOf(events),
    )
    .map(({ value }) => value);

/** The events whose ids neither the user's rows nor earlier events of the call have. */
function unknownOf(tables: ShardTables, { user, events }: EventsOfUser): NewEvent[] {
  const seen = new Set(knownIdsOf(tables, { user, events }));
  return events.filter(({ event_id }) => !seen.has(event_id) && seen.add(event_id));
}

const idsOf = (events: readonly NewEvent[]) => JSON.stringify(events.map(({ event_id }) => event_id));

const sizeOf = (batch: readonly EventsOfUser[]) => batch.reduce((sum, { events }) => sum + events.length, 0);
