import { type DuckDBType, DuckDBTypeId } from "@duckdb/node-api";
import { identifier } from "../connectors/sql-text.ts";
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

/** SPACES as E'' writes them in a regular expression: a server in LATIN1 refuses the characters themselves. */
const ESCAPED_SPACES = [...SPACES].map((space) => `\\\\u${space.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");

const digits = (integer: string) => `CAST(${integer} AS text)`;
const literal = (text: string) => `E'${text.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;

/** Postgres 11 and later. Types are those that the connector gives a column (connectors/postgres/columns.ts). */
export const POSTGRES: Dialect = {
  name: "Postgres",
  identifier,
  arrivesAsCast: () => true,
  id,
  time: timeRule,
  label: labelRule({
    numbers: new Set([DuckDBTypeId.INTEGER, DuckDBTypeId.BIGINT, DuckDBTypeId.DOUBLE]),
    texts: new Set([DuckDBTypeId.VARCHAR]),
    trimmed: (column) => trimmed(sent(column)),
    truthAsInteger: (column) => `CAST(${column} AS integer)`,
    ratingNumber,
    digits,
    literal,
  }),
  timeLiteral: (_, utc) => `'${utc}+00'`, // Postgres gives it the type of the column that it is compared with
  magnitude: (number) => `abs(CAST(${number} AS float8))`,
  digits,
  byCodePoint: (text) => `(${text}) COLLATE "C"`,
  md5: (text) => `md5(convert_to(${text}, 'UTF8'))`,
  sha256: (saltHex, text) => `encode(sha256(decode('${saltHex}', 'hex') || convert_to(${text}, 'UTF8')), 'hex')`,
};

/**
 * The text that the server sends for a value. `concat` writes the same, while a cast would drop spaces of char(n).
 * Texts are equal when their bytes are.
 */
const sent = (column: string) => `CAST(CASE WHEN ${column} IS NOT NULL THEN concat(${column}) END AS text) COLLATE "C"`;

/** As the connector reads it: the whole number of a numeric has no point, and char(n) no blanks at its end. */
const idTextOf = (column: string) => {
  const text = sent(column);
  return `(CASE CAST(pg_typeof(${column}) AS text) WHEN 'character' THEN rtrim(${text}, ' ')
    WHEN 'numeric' THEN regexp_replace(${text}, '([.][0-9]*[1-9])0+$|[.]0+$', '\\1') ELSE ${text} END) COLLATE "C"`;
};

const trimmed = (text: string) => `regexp_replace(${text}, E'^[${ESCAPED_SPACES}]+|[${ESCAPED_SPACES}]+$', '', 'g')`;

/** The server sends a real by its shortest digits, which the trainer reads. */
const real = (column: string) => `CAST(CASE WHEN ${column} IS NOT NULL THEN concat(${column}) END AS float8)`;

function id(column: string, { typeId }: DuckDBType, reading: IdReading): ReturnType<Dialect["id"]> {
  if (typeId === DuckDBTypeId.INTEGER || typeId === DuckDBTypeId.BIGINT)
    return { key: column, isInteger: true, reason: idReason(column, reading) };
  if (typeId === DuckDBTypeId.BOOLEAN)
    return { key: `CAST(${column} AS text) COLLATE "C"`, isInteger: false, reason: idReason(column, reading) };
  if (typeId !== DuckDBTypeId.VARCHAR) return undefined;
  const text = idTextOf(column);
  const key = reading.trims ? `${trimmed(text)} COLLATE "C"` : text;
  const bytes = `octet_length(convert_to(${key}, 'UTF8'))`;
  return { key, isInteger: false, reason: idReason(column, reading, { text: key, bytes, literal }) };
}

function timeRule(column: string, { typeId }: DuckDBType): TimeRule | undefined {
  const isMissing = `${column} IS NULL`;
  switch (typeId) {
    case DuckDBTypeId.BIGINT:
      return {
        seconds: (unit) => (unit === 1 ? column : unit === "day" ? ofDay(column) : `${column} / ${unit}`),
        number: column,
        isMissing,
      };
    case DuckDBTypeId.INTEGER:
    case DuckDBTypeId.DOUBLE: {
      const number = typeId === DuckDBTypeId.DOUBLE ? real(column) : `CAST(${column} AS float8)`;
      return { seconds: (unit) => floored(number, unit), number, isMissing };
    }
    case DuckDBTypeId.DATE:
    case DuckDBTypeId.TIMESTAMP:
      return {
        // A double has every microsecond of the accepted years; extract would compute with numerics, twice as slow as the rest of a scan.
        seconds: () => `CASE WHEN isfinite(${column}) THEN CAST(floor(date_part('epoch', ${column})) AS bigint) END`,
        number: null,
        // The connector gives no value for such times.
        isMissing: `(${column} IS NULL OR NOT isfinite(${column}) OR ${column} < '0001-01-01')`,
      };
    default:
      return undefined;
  }
}

/** The digits of a day, such as 20241231. NULL for other numbers; the 31st of a shorter month is the first of the next. */
function ofDay(number: string): string {
  const digits = `CAST(${number} AS bigint)`;
  const [year, month, day] = [`${digits} / 10000`, `${digits} / 100 % 100`, `${digits} % 100`];
  const isDay = `${number} BETWEEN 19700101 AND 21061231 AND ${month} BETWEEN 1 AND 12 AND ${day} BETWEEN 1 AND 31`;
  const date = `make_date(CAST(${year} AS int), CAST(${month} AS int), 1) + CAST(${day} - 1 AS int)`;
  return `CASE WHEN ${isDay} THEN CAST(extract(epoch FROM ${date}) AS bigint) END`;
}

const floored = (number: string, unit: TimeUnit) => (unit === "day" ? ofDay(number) : flooredSeconds(number, unit));
const flooredSeconds = (number: string, unit: number) =>
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
