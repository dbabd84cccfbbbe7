import type { ConnectorSettings } from "../../../settings.ts";
import { sandboxQueries } from "../duckdb/queries.ts";
import { openSandbox } from "../duckdb/sandbox.ts";
import { identifier, literal } from "../sql-text.ts";
import { eventTypes, storedEventsSql } from "./events.ts";
import type { FetchedEvents } from "./fetch-events.ts";

/** How many lists of a version were shown, and how many of these led to an event of each type. */
export type ListCounts = {
  readonly version: string;
  readonly lists: number;
  readonly led: ReadonlyMap<string, number>;
};

/**
 * Counts the lists of these versions by the rank ids of events. A list counts as shown if it has an event of a type that is not seen,
 * such as an impression. Nothing else says how many lists there were. Without such a type nobody can know, and nothing is counted.
 */
export async function countLists(
  events: FetchedEvents,
  versions: readonly string[],
  { settings, signal }: { readonly settings: ConnectorSettings; readonly signal: AbortSignal },
): Promise<ListCounts[]> {
  const { shown, seen } = eventTypes(events.meanings);
  if (shown.length === 0 || versions.length === 0) return [];
  const among = (list: readonly string[]) => `(${list.map(literal).join(", ")})`;
  const led = seen.map(
    (type) => `count(*) FILTER (list_contains(types, ${literal(type)})) AS ${identifier(`led ${type}`)}`,
  );
  const sql = `SELECT version, count(*) AS lists, ${led.join(", ")} FROM (
      SELECT rank_id, split_part(rank_id, '.', 1) AS version, list(DISTINCT type) AS types FROM events
      WHERE rank_id IS NOT NULL AND type IN ${among([...shown, ...seen])} GROUP BY rank_id) AS lists
    WHERE version IN ${among(versions)} AND list_has_any(types, [${shown.map(literal).join(", ")}])
    GROUP BY version ORDER BY version`;
  const sandbox = await openSandbox(events.files, settings, (connection) =>
    connection.run(`CREATE VIEW events AS SELECT rank_id, type FROM ${storedEventsSql(events)}`),
  );
  try {
    const { chunks } = await sandboxQueries(sandbox, settings).stream(sql, signal);
    const counts: ListCounts[] = [];
    for await (const chunk of chunks)
      for (const [version, lists, ...numbers] of chunk.getRows())
        counts.push({
          version: String(version),
          lists: Number(lists),
          led: new Map(seen.map((type, i) => [type, Number(numbers[i])])),
        });
    return counts;
  } finally {
    await sandbox.close();
  }
}
