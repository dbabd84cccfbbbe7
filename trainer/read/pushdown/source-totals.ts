import { type Connector, jsonRows, type SourceRows } from "../connectors/connector.ts";
import { unreadableOf } from "../dataset/stage-query.ts";
import { countRejected, type Rejected, rejectedOf } from "../rules/reject-reasons.ts";
import { type TimeReading, timeReadingOf } from "../rules/time-reading.ts";
import { DISTINCT, type Relation, relationSql } from "./relation.ts";
import type { SourceTable } from "./source-table.ts";

/** A store that computes relations. */
export type PushedSource = {
  readonly connector: Connector;
  readonly table: SourceTable;
  readonly signal: AbortSignal;
  /** What the store called each reading, such as job ids. Each reading adds one. */
  readonly origins: string[];
};

/** The rows of a relation. Throws what the connector throws. */
export async function openRelation(source: PushedSource, relation: Relation): Promise<SourceRows> {
  const rows = await source.connector.read(relationSql(relation, source.table), { signal: source.signal });
  if (rows.origin !== undefined) source.origins.push(`${relation.kind.replaceAll("_", " ")}: ${rows.origin}`);
  return rows;
}

const firstRow = async (source: PushedSource, relation: Relation) =>
  (await jsonRows(await openRelation(source, relation)))[0]!;

/** Counts of the accepted rows, made by the store. */
export type Totals = {
  readonly users: number;
  readonly interactions: number;
  readonly positives: number;
  /** Epoch seconds. */
  readonly firstSecond: number;
  readonly lastSecond: number;
  /** The number of interactions when only the newest of each user are kept. */
  readonly newest: number;
};

/** How the times are read. Throws StageError `ambiguous_time`. */
export function readTimes(source: PushedSource, format: string | undefined): Promise<TimeReading> {
  const { dialect, rules, columns } = source.table;
  const readRow = (aggregates: string) => firstRow(source, { kind: "times", aggregates });
  return timeReadingOf(dialect, { name: columns[2], rule: rules.time, format, readRow });
}

/**
 * The number of rows, and the rejected ones by reason, including rows that the store could not read. No row numbers are
 * given, since a store's rows have no order.
 */
export async function readRejected(
  source: PushedSource,
): Promise<{ readonly rows: number; readonly rejected: Rejected }> {
  const answer = await openRelation(source, { kind: "reasons" });
  const counts = (await jsonRows(answer)).map(({ reason, row_count }) => ({ reason, count: Number(row_count) }));
  const unreadable = unreadableOf(answer);
  const rows = counts.reduce((sum, { count }) => sum + count, countRejected(unreadable));
  const refused = counts.filter(({ reason }) => reason !== null);
  const rejected = rejectedOf(refused.map(({ reason, count }) => ({ reason: String(reason), count, firstRows: [] })));
  return { rows, rejected: { ...rejected, ...unreadable } };
}

/** @param perUser The number of newest interactions of a user that are kept. */
export async function readTotals(source: PushedSource, perUser: number): Promise<Totals> {
  const row = await firstRow(source, { kind: "totals", of: DISTINCT, perUser });
  return {
    users: Number(row.users), // a sum of no rows is NULL, which becomes 0
    interactions: Number(row.interactions),
    positives: Number(row.positives),
    firstSecond: Number(row.first_second),
    lastSecond: Number(row.last_second),
    newest: Number(row.newest),
  };
}
