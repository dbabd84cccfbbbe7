/** Removes and compacts a shard's old events. */
import type { StoredEvent } from "../../shared/events/event.ts";
import type { UserId } from "../../shared/ids.ts";
import { eventsOfRow, type Row, type ShardTables } from "./shard-tables.ts";

/** Exported rows that arrived before a time. */
export type OldRows = {
  /** Up to this number, all models have learnt the rows. */
  readonly learnt: number;
  readonly beforeMs: number;
};

/** Limits on the work of one alarm, for which the shard's calls have to wait. */
const REMOVED_ROWS_MAX = 5000;
const COMPACTED_USERS_MAX = 100;
/** SQLite in a Durable Object stores at most 2 MB in a row. */
const ROW_CHARACTERS_MAX = 400_000;
/** Limit on the newest events of one type that a user's history may need. */
const NEWEST_MAX = 200;
/** The ids of a compacted row: none, since its events are too old to be sent again. */
const NO_IDS = "[]";

/** Removes some learnt rows. Returns whether more may be left. */
export function removeLearnt(tables: ShardTables, { learnt, beforeMs }: OldRows): boolean {
  const text = "SELECT seq FROM batches WHERE seq <= ? AND at < ? LIMIT ?";
  const rows = tables.query<Row>(text, Math.min(learnt, tables.exported), beforeMs, REMOVED_ROWS_MAX);
  tables.delete(rows);
  return rows.length === REMOVED_ROWS_MAX;
}

/** Compacts the rows of some users that no training has learnt in time. Returns whether more users may have such rows. */
export function compactUnlearnt(tables: ShardTables, old: OldRows): boolean {
  const users = tables.query<Row>(
    `SELECT user FROM batches WHERE seq > ? AND seq <= ? AND at < ?
     GROUP BY user HAVING COUNT(*) > 1 AND SUM(ids <> '${NO_IDS}') > 0 LIMIT ?`,
    old.learnt,
    tables.exported,
    old.beforeMs,
    COMPACTED_USERS_MAX,
  );
  for (const { user } of users) compactUser(tables, user, old);
  return users.length === COMPACTED_USERS_MAX;
}

function compactUser(tables: ShardTables, user: UserId, { learnt, beforeMs }: OldRows): void {
  const text =
    "SELECT seq, user, at, events FROM batches WHERE user = ? AND seq > ? AND seq <= ? AND at < ? ORDER BY seq";
  const rows = tables.query<Row>(text, user, learnt, tables.exported, beforeMs);
  const at = Math.max(...rows.map((row) => row.at));
  tables.delete(rows);
  for (const events of inRows(neededOf(rows.flatMap(eventsOfRow)))) {
    const withoutUser = events.map(({ user_id: _, ...event }) => event);
    tables.insert({ seq: events.at(-1)!.seq, user, at, events: withoutUser, ids: NO_IDS });
  }
}

/**
 * The events that ranking needs: by type, the newest 200 and the newest of each item. A shard does not know which types are positive or
 * count as seen, since each model says that for itself. The order stays.
 */
function neededOf(events: readonly StoredEvent[]): StoredEvent[] {
  const newestFirst = [...events].sort((a, b) => b.created_at - a.created_at || b.seq - a.seq);
  const counts = new Map<string, number>();
  const items = new Set<string>();
  const needed = new Set<StoredEvent>();
  for (const event of newestFirst) {
    const count = (counts.get(event.type) ?? 0) + 1;
    counts.set(event.type, count);
    const item = `${event.type} ${event.item_id}`; // a type has no space
    if (count <= NEWEST_MAX || !items.has(item)) needed.add(event);
    items.add(item);
  }
  return events.filter((event) => needed.has(event));
}

/** Events in the order of their numbers, in groups that fit a row. Events of one number stay together. */
function inRows(events: readonly StoredEvent[]): StoredEvent[][] {
  const rows: StoredEvent[][] = [];
  let characters = Infinity;
  let last = 0;
  for (const event of events) {
    if (characters > ROW_CHARACTERS_MAX && event.seq !== last) {
      rows.push([]);
      characters = 0;
    }
    rows.at(-1)!.push(event);
    characters += JSON.stringify(event).length;
    last = event.seq;
  }
  return rows;
}
