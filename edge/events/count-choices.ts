import { EARLIER_HOURS, RECENT_HOURS } from "../../shared/recent-choices.ts";
import type { ShardChoices } from "./shard-rpc.ts";
import type { ShardTables } from "./shard-tables.ts";

/** The newest events that are counted, as for popular items (count-users.ts). */
const EVENTS_COUNTED_MAX = 20_000;
const HOUR_SECONDS = 3600;

type Counted = { readonly types: readonly string[]; readonly afterSeq: number; readonly limit: number };
type Row = ShardChoices["items"][number];

/**
 * How many users chose each item in the last 48 hours and in the 28 days before, by the newest events of these types with higher
 * numbers. The items with the most recent choices are returned, and the sums of all.
 */
export function countChoices(
  tables: ShardTables,
  { types, afterSeq, limit }: Counted,
  nowSeconds: number,
): ShardChoices {
  const recentFrom = nowSeconds - RECENT_HOURS * HOUR_SECONDS;
  const rows = tables.query<Row>(
    `WITH choices AS (
       SELECT DISTINCT user, event.value ->> 'item_id' AS item, event.value ->> 'created_at' > ? AS is_recent
       FROM (
         SELECT seq, user, events, SUM(count) OVER (ORDER BY seq DESC) - count AS newer
         FROM (SELECT seq, user, events, count FROM batches WHERE seq > ? ORDER BY seq DESC LIMIT ${EVENTS_COUNTED_MAX})
       ) AS batch, json_each(events) AS event
       WHERE newer < ${EVENTS_COUNTED_MAX} AND COALESCE(event.value ->> 'seq', batch.seq) > ?
         AND event.value ->> 'type' IN (SELECT value FROM json_each(?)) AND event.value ->> 'created_at' > ?
     ), counts AS (
       SELECT item, SUM(is_recent) AS recent, SUM(1 - is_recent) AS earlier FROM choices GROUP BY item
     )
     SELECT NULL AS item, COALESCE(SUM(recent), 0) AS recent, COALESCE(SUM(earlier), 0) AS earlier FROM counts
     UNION ALL SELECT * FROM (SELECT item, recent, earlier FROM counts ORDER BY recent DESC, item LIMIT ?)`,
    recentFrom,
    afterSeq,
    afterSeq,
    JSON.stringify(types),
    recentFrom - EARLIER_HOURS * HOUR_SECONDS,
    limit,
  );
  const [totals, ...items] = rows;
  return { totals: { recent: totals!.recent, earlier: totals!.earlier }, items };
}
