import { type DuckDBType, DuckDBTypeId } from "@duckdb/node-api";
import { quoted } from "../connectors/bigquery/columns.ts";
import {
  type Dialect,
  type IdReading,
  idReason,
  labelRule,
  NUMBER_PATTERN,
  SPACES,
  type TimeRule,
  type TimeUnit,
} from "./dialect.ts";

/** Types that the connector fetches as a cast writes them, unlike BYTES and JSON. */
const CAST_ALIKE = new Set(
  "STRING INTEGER INT64 FLOAT FLOAT64 BOOLEAN BOOL TIMESTAMP DATETIME DATE NUMERIC BIGNUMERIC".split(" "),
);

const digits = (integer: string) => `CAST(${integer} AS STRING)`;

/** GoogleSQL. Types are those that the connector gives a column (connectors/bigquery/columns.ts). */
export const BIGQUERY: Dialect = {
  name: "BigQuery",
  // A result that is not written to a table of the customer has at most 10 GB, compressed. A row of records is 70 bytes and the item's id.
  recordRowsMax: 100_000_000,
  identifier: quoted,
  arrivesAsCast: ({ native }) => native === undefined || CAST_ALIKE.has(native),
  id,
  time: timeRule,
  label: labelRule({
    numbers: new Set([DuckDBTypeId.BIGINT, DuckDBTypeId.DOUBLE]),
    texts: new Set([DuckDBTypeId.VARCHAR]),
    trimmed: (column) => trimmed(column),
    truthAsInteger: (column) => `CAST(${column} AS INT64)`,
    ratingNumber,
    digits,
    literal: JSON.stringify, // its escapes are also those of GoogleSQL
  }),
  timeLiteral({ native }, utc) {
    if (native === "DATE") return `DATE '${utc.slice(0, 10)}'`;
    return native === "DATETIME" ? `DATETIME '${utc}'` : `TIMESTAMP '${utc}+00'`;
  },
  magnitude: (number) => `ABS(CAST(${number} AS FLOAT64))`,
  digits,
  byCodePoint: (text) => text,
  md5: (text) => `TO_HEX(MD5(${text}))`,
  sha256: (saltHex, text) => `TO_HEX(SHA256(FROM_HEX('${saltHex}') || CAST(${text} AS BYTES)))`,
};

/** The text that the connector would fetch, compared by code point whatever the column's collation. */
const textOf = (column: string) => `COLLATE(CAST(${column} AS STRING), '')`;

const trimmed = (column: string) => `TRIM(${textOf(column)}, '${SPACES}')`;

function id(column: string, { typeId }: DuckDBType, reading: IdReading): ReturnType<Dialect["id"]> {
  if (typeId === DuckDBTypeId.BIGINT) return { key: column, isInteger: true, reason: idReason(column, reading) };
  if (typeId === DuckDBTypeId.BOOLEAN)
    return { key: `CAST(${column} AS STRING)`, isInteger: false, reason: idReason(column, reading) };
  if (typeId !== DuckDBTypeId.VARCHAR) return undefined;
  const key = reading.trims ? trimmed(column) : textOf(column);
  const literal = (word: string) => `r'${word}'`;
  const parts = { literal, text: key, bytes: `BYTE_LENGTH(${key})`, hasNul: `REGEXP_CONTAINS(${key}, r'\\x00')` };
  return { key, isInteger: false, reason: idReason(column, reading, parts) };
}

function timeRule(column: string, { typeId }: DuckDBType): TimeRule | undefined {
  const isMissing = `${column} IS NULL`;
  switch (typeId) {
    case DuckDBTypeId.BIGINT:
      return {
        seconds: (unit) => (unit === 1 ? column : unit === "day" ? ofDay(column) : `DIV(${column}, ${unit})`),
        number: column,
        isMissing,
      };
    case DuckDBTypeId.DOUBLE: {
      // No comparison holds for NaN.
      const seconds = (unit: TimeUnit) =>
        unit === "day"
          ? ofDay(column)
          : `CASE WHEN ABS(${column} / ${unit}) < 9.2e18 THEN CAST(FLOOR(${column} / ${unit}) AS INT64) END`;
      return { seconds, number: column, isMissing };
    }
    case DuckDBTypeId.DATE:
    case DuckDBTypeId.TIMESTAMP:
      return { seconds: () => `UNIX_SECONDS(CAST(${column} AS TIMESTAMP))`, number: null, isMissing };
    default:
      return undefined;
  }
}

/** The digits of a day, such as 20241231. NULL for other numbers. */
const ofDay = (number: string) =>
  `UNIX_SECONDS(TIMESTAMP(SAFE.PARSE_DATE('%Y%m%d', CAST(SAFE_CAST(${number} AS INT64) AS STRING))))`;

function ratingNumber(column: string, typeId: DuckDBTypeId): string {
  if (typeId === DuckDBTypeId.BOOLEAN) return `CAST(CAST(${column} AS INT64) AS FLOAT64)`;
  if (typeId === DuckDBTypeId.VARCHAR) {
    const text = textOf(column);
    const number = `REGEXP_EXTRACT(${text}, r'[^[:space:]]+')`;
    return `CASE WHEN REGEXP_CONTAINS(${text}, r'${NUMBER_PATTERN}') THEN SAFE_CAST(${number} AS FLOAT64) END`;
  }
  return `CASE WHEN ABS(CAST(${column} AS FLOAT64)) <= 1.7976931348623157e308 THEN CAST(${column} AS FLOAT64) END`;
}
