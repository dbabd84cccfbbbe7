import { type DuckDBType, DuckDBTypeId } from "@duckdb/node-api";
import { ID_BYTES_MAX } from "../../../shared/ids.ts";
import { identifier } from "../connectors/duckdb/quote.ts";
import type { TimeExpression, TimeUnit } from "../dataset/time-expression.ts";
import { type Dialect, labelBy, NUMBER_PATTERN, type PushedId, SPACES } from "./dialect.ts";

/** As E'' writes them for a regular expression: a server in LATIN1 takes no statement with the characters themselves. */
const ESCAPED_SPACES = [...SPACES].map((space) => `\\\\u${space.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");

/** Postgres 11 and later. Types are those by which the connector (connectors/postgres/columns.ts) gives a column. */
export const POSTGRES: Dialect = {
  name: "Postgres",
  identifier,
  arrivesAsCast: () => true,
  id,
  time,
  label: labelBy({
    numbers: [DuckDBTypeId.INTEGER, DuckDBTypeId.BIGINT, DuckDBTypeId.DOUBLE],
    trimmed: (column) => `regexp_replace(${sent(column)}, E'^[${ESCAPED_SPACES}]+|[${ESCAPED_SPACES}]+$', '', 'g')`,
    lower: (text) => `lower(${text})`,
    asInteger: (column) => `CAST(${column} AS integer)`,
    ratingNumber,
  }),
  timeLiteral: (_, utc) => `'${utc}+00'`, // takes the type of what it is compared with
  magnitude: (number) => `abs(CAST(${number} AS float8))`,
  digits: (integer) => `CAST(${integer} AS text)`,
  byCodePoint: (text) => `(${text}) COLLATE "C"`,
  md5: (text) => `md5(convert_to(${text}, 'UTF8'))`,
  sha256: (saltHex, text) => `encode(sha256(decode('${saltHex}', 'hex') || convert_to(${text}, 'UTF8')), 'hex')`,
};

/**
 * What the server sends for a value: `concat` writes as it does, where a cast would change char(n). Bytes decide what
 * is equal.
 */
const sent = (column: string) => `CAST(CASE WHEN ${column} IS NOT NULL THEN concat(${column}) END AS text) COLLATE "C"`;

/** A real is sent by its shortest digits, and those are what the trainer reads. */
const real = (column: string) => `CAST(CASE WHEN ${column} IS NOT NULL THEN concat(${column}) END AS float8)`;

function id(column: string, { typeId }: DuckDBType, which: "user" | "item"): PushedId | undefined {
  const missing = `WHEN ${column} IS NULL THEN 'missing_${which}'`;
  if (typeId === DuckDBTypeId.INTEGER || typeId === DuckDBTypeId.BIGINT)
    return { key: column, isInteger: true, reason: `CASE ${missing} END` };
  if (typeId === DuckDBTypeId.BOOLEAN)
    return { key: `CAST(${column} AS text) COLLATE "C"`, isInteger: false, reason: `CASE ${missing} END` };
  if (typeId !== DuckDBTypeId.VARCHAR) return undefined;
  const key = sent(column);
  const reason = `CASE ${missing} WHEN ${key} = '' THEN 'missing_${which}'
    WHEN octet_length(convert_to(${key}, 'UTF8')) > ${ID_BYTES_MAX} THEN 'id_too_long' END`;
  return { key, isInteger: false, reason };
}

function time(column: string, { typeId }: DuckDBType): TimeExpression | undefined {
  const isMissing = `${column} IS NULL`;
  switch (typeId) {
    case DuckDBTypeId.BIGINT:
      return { seconds: (unit) => (unit === 1 ? column : `${column} / ${unit}`), number: column, isMissing };
    case DuckDBTypeId.INTEGER:
    case DuckDBTypeId.DOUBLE: {
      const number = typeId === DuckDBTypeId.DOUBLE ? real(column) : `CAST(${column} AS float8)`;
      return { seconds: (unit) => floored(number, unit), number, isMissing };
    }
    case DuckDBTypeId.DATE:
    case DuckDBTypeId.TIMESTAMP:
      return {
        seconds: () => `CASE WHEN isfinite(${column}) THEN CAST(floor(extract(epoch FROM ${column})) AS bigint) END`,
        number: null,
        // What has no year from 1 on arrives as no value.
        isMissing: `(${column} IS NULL OR NOT isfinite(${column}) OR ${column} < '0001-01-01')`,
      };
    default:
      return undefined;
  }
}

const floored = (number: string, unit: TimeUnit) =>
  `CASE WHEN abs(${number} / ${unit}) < 9.2e18 THEN CAST(floor(${number} / ${unit}) AS bigint) END`;

function ratingNumber(column: string, typeId: DuckDBTypeId): string {
  if (typeId === DuckDBTypeId.BOOLEAN) return `CAST(CAST(${column} AS integer) AS float8)`;
  if (typeId === DuckDBTypeId.VARCHAR) {
    const text = sent(column);
    return `CASE WHEN ${text} ~ '${NUMBER_PATTERN}' THEN CAST(${text} AS float8) END`;
  }
  const number = real(column);
  return `CASE WHEN ${number} > '-Infinity' AND ${number} < 'Infinity' THEN ${number} END`;
}
