import type { SourceColumn } from "../connectors/connector.ts";
import type { ConnectorType } from "../connectors/connector-config.ts";
import { innerQuery } from "../connectors/sql-text.ts";
import { BIGQUERY } from "./bigquery-dialect.ts";
import { INTEGERS, TIMES } from "./column-kinds.ts";
import type { Dialect, TimeUnit } from "./dialect.ts";
import { DUCKDB } from "./duckdb-dialect.ts";
import { POSTGRES } from "./postgres-dialect.ts";

const DIALECTS: Readonly<Record<ConnectorType, Dialect>> = {
  BigQuery: BIGQUERY,
  Events: DUCKDB,
  File: DUCKDB,
  Postgres: POSTGRES,
};

/** The SQL of a connector's store; undefined for a type of connector that has none. */
export const dialectOf = (connectorType: string): Dialect | undefined =>
  Object.hasOwn(DIALECTS, connectorType) ? DIALECTS[connectorType as ConnectorType] : undefined;

/** A bound of times: epoch seconds, and the unit of a column that holds whole numbers. */
export type Moment = { readonly before: number; readonly unit: TimeUnit };

/**
 * The moment as a literal that a column of times can be compared with. Undefined for texts, fractions and decimal
 * numbers, whose order need not be that of time.
 */
export function momentLiteral(dialect: Dialect, column: SourceColumn, moment: Moment): string | undefined {
  const { typeId } = column.type;
  const utc = new Date(moment.before * 1000).toISOString();
  if (INTEGERS.has(typeId))
    return moment.unit === "day"
      ? utc.slice(0, 10).replaceAll("-", "")
      : String(BigInt(moment.before) * BigInt(moment.unit));
  if (!TIMES.has(typeId)) return undefined;
  return dialect.timeLiteral(column, utc.slice(0, 19).replace("T", " "));
}

/**
 * The query without its rows before a moment; rows without a time stay. The column is compared as it is, so that the
 * store can use an index or skip partitions. Undefined where momentLiteral is.
 */
export function queryFrom(dialect: Dialect, query: string, column: SourceColumn, moment: Moment): string | undefined {
  const literal = momentLiteral(dialect, column, moment);
  const time = dialect.identifier(column.name);
  if (literal === undefined) return undefined;
  return `SELECT * FROM (\n${innerQuery(query)}\n) AS source WHERE ${time} >= ${literal} OR ${time} IS NULL`;
}
