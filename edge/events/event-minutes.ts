import { addTo, type Counts, MINUTE_MS } from "../live/counts.ts";
import type { LiveCounts } from "./shard-rpc.ts";
import { eventsOfRow, type Row, type ShardTables } from "./shard-tables.ts";

/** Rows whose events are counted in a call: about a quarter of a second, in which the shard answers no other call. */
const ROWS_MAX = 50_000;
const NEWEST_MAX = 20;

/** Counts the events that a shard stored in each minute, by type. Rows are counted on request, each once while the shard is in memory. */
export class EventMinutes {
  readonly #tables: ShardTables;
  readonly #minutes = new Map<number, Counts>();
  #countedSeq = 0;
  #uncountedMs = 0;

  constructor(tables: ShardTables) {
    this.#tables = tables;
  }

  from(minute: number): LiveCounts {
    this.#countNewRows(minute);
    for (const old of this.#minutes.keys()) if (old < minute) this.#minutes.delete(old);
    const newest = "SELECT * FROM (SELECT seq, user, at, events FROM batches ORDER BY seq DESC LIMIT ?) WHERE at >= ?";
    const rows = this.#tables.query<Row>(newest, NEWEST_MAX, minute * MINUTE_MS);
    return {
      minutes: [...this.#minutes].map(([minute, events]) => ({ minute, events })),
      uncountedMs: this.#uncountedMs,
      newest: rows
        .flatMap((row) =>
          eventsOfRow(row)
            .map((event) => ({ ...event, at: row.at }))
            .reverse(),
        )
        .slice(0, NEWEST_MAX),
    };
  }

  #countNewRows(minute: number): void {
    const { lastSeq } = this.#tables;
    const first = Math.max(this.#countedSeq, lastSeq - ROWS_MAX);
    if (first > this.#countedSeq) {
      const newest = "SELECT at AS value FROM batches WHERE seq <= ? ORDER BY seq DESC LIMIT 1";
      this.#uncountedMs = this.#tables.numberIn(newest, first);
    }
    const counts = `SELECT at / ${MINUTE_MS} AS minute, json_extract(event.value, '$.type') AS type, COUNT(*) AS count
      FROM batches, json_each(batches.events) AS event WHERE seq > ? AND at >= ? GROUP BY 1, 2`;
    type Counted = { minute: number; type: string; count: number };
    for (const { minute: at, type, count } of this.#tables.query<Counted>(counts, first, minute * MINUTE_MS)) {
      if (!this.#minutes.has(at)) this.#minutes.set(at, {});
      addTo(this.#minutes.get(at)!, type, count);
    }
    this.#countedSeq = lastSeq;
  }
}
