import { type DuckDBType, DuckDBTypeId } from "@duckdb/node-api";
import { LOCAL_TIMES, NUMBERS } from "./column-kinds.ts";
import { numberOfText } from "./label-expression.ts";

/** How SQL reads a column of times. */
export type TimeExpression = {
  /** Of the column, given the unit of its numbers: BIGINT epoch seconds, NULL when it is no time. */
  seconds(unit: TimeUnit): string;
  /** Of the column: its numbers, by which the unit is decided. Null: the column has none. */
  readonly number: string | null;
  /** Of the column: whether there is no value at all. */
  readonly isMissing: string;
};

/** Parts of a second in the numbers of a column. */
export type TimeUnit = 1 | 1_000 | 1_000_000 | 1_000_000_000;

/** The largest epoch seconds that a dataset holds: 2106-02-07. */
export const SECONDS_MAX = 2 ** 32 - 1;

/** The expression for a column of times, or undefined when the type holds none. Text is ISO 8601 or a number, in UTC. */
export function timeExpression(column: string, type: DuckDBType): TimeExpression | undefined {
  const isMissing = `${column} IS NULL`;
  if (LOCAL_TIMES.has(type.typeId))
    return { seconds: () => ofTimestamp(`TRY_CAST(${column} AS TIMESTAMP)`), number: null, isMissing };
  if (type.typeId === DuckDBTypeId.TIMESTAMP_TZ) return { seconds: () => ofTimestamp(column), number: null, isMissing };
  if (type.typeId === DuckDBTypeId.BIGINT)
    return { seconds: (unit) => (unit === 1 ? column : `(${column} // ${unit})`), number: column, isMissing };
  if (NUMBERS.has(type.typeId)) {
    const number = `CAST(${column} AS DOUBLE)`;
    return { seconds: (unit) => ofNumber(number, unit), number, isMissing };
  }
  if (type.typeId !== DuckDBTypeId.VARCHAR) return undefined;
  const number = `(${numberOfText(column)})`;
  return {
    seconds: (unit) =>
      `CASE WHEN ${number} IS NOT NULL THEN ${ofNumber(number, unit)}
       ELSE ${ofTimestamp(`TRY_CAST(trim(${column}) AS TIMESTAMPTZ)`)} END`, // DuckDB refuses a blank after a day
    number,
    isMissing: `(${column} IS NULL OR trim(${column}) = '')`,
  };
}

const ofTimestamp = (timestamp: string) =>
  `CASE WHEN isfinite(${timestamp}) THEN CAST(floor(epoch(${timestamp})) AS BIGINT) END`;
const ofNumber = (number: string, unit: TimeUnit) => `TRY_CAST(floor(${number} / ${unit}) AS BIGINT)`;

/** The unit that most of a column's numbers are in, by their size: seconds are below 10^11 until the year 5138. */
export function unitOf(counts: { readonly [Unit in TimeUnit]: number }): TimeUnit {
  const units = [1, 1_000, 1_000_000, 1_000_000_000] as const;
  return units.reduce((best, unit) => (counts[unit] > counts[best] ? unit : best));
}

/**
 * The unit of a column of times.
 *
 * @param count Runs the aggregates over the column's table and gives the one row.
 */
export async function timeUnitOf(
  { number }: TimeExpression,
  count: (aggregates: string) => Promise<Readonly<Record<string, unknown>>>,
): Promise<TimeUnit> {
  if (number === null) return 1;
  const counts = await count(unitCounts(number));
  const of = (unit: TimeUnit) => Number(counts[`u${unit}`]);
  return unitOf({ 1: of(1), 1000: of(1_000), 1000000: of(1_000_000), 1000000000: of(1_000_000_000) });
}

/** No number of a time in any unit: NaN, which DuckDB and Postgres hold for the largest of all, and infinity are not below it. */
export const SIZE_MAX = "1e20";

/** SQL that counts a column's numbers by the unit that their size speaks for: columns u1, u1000, … */
export function unitCounts(number: string): string {
  const size = `abs(CAST(${number} AS DOUBLE))`; // the smallest BIGINT has no abs
  return `count(*) FILTER (${size} < 1e11) AS u1,
    count(*) FILTER (${size} >= 1e11 AND ${size} < 1e14) AS u1000,
    count(*) FILTER (${size} >= 1e14 AND ${size} < 1e17) AS u1000000,
    count(*) FILTER (${size} >= 1e17 AND ${size} < ${SIZE_MAX}) AS u1000000000`;
}
