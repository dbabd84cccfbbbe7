import type { ItemCount } from "./shard-rpc.ts";
import type { ShardTables } from "./shard-tables.ts";

/** The newest events that are counted. This takes 60 to 80 ms, during which the shard's other calls wait. */
const EVENTS_COUNTED_MAX = 20_000;

/**
 * The items with the most users among the newest events of these types. Users are counted, not events: one user alone makes nothing
 * popular, and compaction changes no count, as it keeps an event of each user, type and item.
 */
export const countUsers = (tables: ShardTables, types: readonly string[], limit: number): ItemCount[] =>
  tables.query<ItemCount>(
    `SELECT event.value ->> 'item_id' AS item, COUNT(DISTINCT user) AS users
     FROM (
       SELECT user, events, SUM(count) OVER (ORDER BY seq DESC) - count AS newer
       FROM (SELECT seq, user, events, count FROM batches ORDER BY seq DESC LIMIT ${EVENTS_COUNTED_MAX})
     ), json_each(events) AS event
     WHERE newer < ${EVENTS_COUNTED_MAX} AND event.value ->> 'type' IN (SELECT value FROM json_each(?))
     GROUP BY item ORDER BY users DESC, item LIMIT ?`,
    JSON.stringify(types),
    limit,
  );
