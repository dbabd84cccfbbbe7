import { addMinute, type CallMinute, emptyMinute } from "../live/counts.ts";
import type { ShardTables } from "./shard-tables.ts";

const MINUTES_MAX = 60;

/** Adds what an isolate has counted. Each message writes one row, since rows written cost money. */
export function addCalls(tables: ShardTables, minutes: readonly CallMinute[]): void {
  for (const more of minutes) {
    const [known] = callsIn(tables, "minute = ?", more.minute);
    const sum = known ?? emptyMinute(more.minute);
    addMinute(sum, more);
    tables.query("INSERT OR REPLACE INTO calls VALUES (?, ?)", more.minute, JSON.stringify(sum));
    if (known === undefined) tables.query("DELETE FROM calls WHERE minute < ?", more.minute - MINUTES_MAX);
  }
}

export const callsFrom = (tables: ShardTables, minute: number): CallMinute[] => callsIn(tables, "minute >= ?", minute);

const callsIn = (tables: ShardTables, condition: string, minute: number): CallMinute[] =>
  tables
    .query<{ counts: string }>(`SELECT counts FROM calls WHERE ${condition}`, minute)
    .map(({ counts }) => JSON.parse(counts) as CallMinute);
