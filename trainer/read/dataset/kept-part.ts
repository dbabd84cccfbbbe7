import { duckdbSince } from "../connectors/duckdb/since.ts";
import { type SinceSql, TALLY_MODULUS, type Tally } from "../connectors/since.ts";
import type { KeptPart } from "./kept-copy.ts";
import { readStaged, type StagedTable, type Staging } from "./staging.ts";
import { timeExpression, timeUnitOf } from "./time-expression.ts";

export type PartOptions = {
  /** Position of the time among the table's columns. */
  readonly timeIndex: number;
  readonly nowSeconds: number;
  readonly overlapSeconds: number;
  /** When the table's first `rows` rows are an earlier part of the source: what that was. */
  readonly earlier?: (KeptPart & { readonly rows: number }) | undefined;
  readonly signal: AbortSignal;
};

/** Which rows of a table to keep for the next run. */
export type NextPart = { readonly part: KeptPart; readonly sql: SinceSql };

/**
 * The rows that lie an overlap or more before the newest that has happened, and what they amount to in the source.
 * Undefined when the times cannot be compared, or there is none.
 */
export async function nextPart(
  staging: Staging,
  table: StagedTable,
  { timeIndex, nowSeconds, overlapSeconds, earlier, signal }: PartOptions,
): Promise<NextPart | undefined> {
  const { sql: column, type } = table.columns[timeIndex]!;
  const time = timeExpression(column, type);
  if (time === undefined) return undefined;
  const read = async (sql: string) => (await readStaged(staging, sql, signal))[0]!;
  const unit = await timeUnitOf(time, (counts) => read(`SELECT ${counts} FROM ${table.name}`));
  const { newest } = await read(
    `SELECT max(s) FILTER (s BETWEEN 0 AND ${nowSeconds}) AS newest FROM (SELECT ${time.seconds(unit)} AS s FROM ${table.name})`,
  );
  if (newest === null) return undefined;
  const epochSeconds = Math.max(0, Number(newest) - overlapSeconds);
  // Never back behind an earlier part: what came after it is all that is known exactly.
  const since =
    earlier !== undefined && earlier.since.epochSeconds >= epochSeconds
      ? earlier.since
      : { epochSeconds, number: BigInt(epochSeconds) * BigInt(unit) };
  const sql = duckdbSince(column, type, since);
  if (sql === undefined) return undefined;
  const fresh = earlier === undefined ? "" : ` AND rowid >= ${earlier.rows}`;
  const tally = await read(
    `SELECT count(*) AS rows, coalesce(sum(${sql.number} % ${TALLY_MODULUS}), 0)::BIGINT AS times
     FROM ${table.name} WHERE ${sql.isBefore}${fresh}`,
  );
  const before = sum({ rows: Number(tally.rows), times: tally.times as bigint }, earlier?.before);
  return { part: { since, before }, sql };
}

const sum = (a: Tally, b: Tally = { rows: 0, times: 0n }): Tally => ({
  rows: a.rows + b.rows,
  times: a.times + b.times,
});
