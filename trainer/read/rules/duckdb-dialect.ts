import { type DuckDBType, DuckDBTypeId } from "@duckdb/node-api";
import { identifier, literal } from "../connectors/sql-text.ts";
import { LOCAL_TIMES, NUMBERS } from "./column-kinds.ts";
import { type Dialect, labelRule, type TimeRule, type TimeUnit } from "./dialect.ts";
import { idExpression } from "./id-expression.ts";

const digits = (integer: string) => `CAST(${integer} AS VARCHAR)`;

/** The SQL of files, and of the database in which the trainer stages rows. */
export const DUCKDB: Dialect = {
  name: "DuckDB",
  identifier,
  arrivesAsCast: () => true,
  id(column, type, reading) {
    const id = idExpression(column, type, reading);
    // Whether such a column holds integers is known only after reading all of it.
    if (!id || id.isIntegral !== null) return undefined;
    const isInteger = id.jsonType === "integer";
    return { key: isInteger ? column : id.text(id.key), isInteger, reason: id.reason };
  },
  time: timeRule,
  label: labelRule({
    numbers: new Set([...NUMBERS, DuckDBTypeId.BIGNUM]),
    texts: new Set([DuckDBTypeId.VARCHAR, DuckDBTypeId.ENUM]),
    trimmed: (column) => `trim(${column})`,
    truthAsInteger: (column) => `CAST(${column} AS UTINYINT)`,
    ratingNumber(column, typeId) {
      const number =
        typeId === DuckDBTypeId.VARCHAR || typeId === DuckDBTypeId.ENUM
          ? numberOfText(column)
          : `TRY_CAST(${typeId === DuckDBTypeId.FLOAT ? shortestDigits(column) : column} AS DOUBLE)`;
      return `CASE WHEN isfinite(${number}) THEN ${number} END`;
    },
    digits,
    literal,
  }),
  // In the column's own type, so that nothing is rounded across the bound.
  timeLiteral: ({ type }, utc) =>
    type.typeId === DuckDBTypeId.TIMESTAMP_TZ ? `TIMESTAMPTZ '${utc}+00'` : `CAST(TIMESTAMP '${utc}' AS ${type})`,
  magnitude: (number) => `abs(CAST(${number} AS DOUBLE))`, // the smallest BIGINT has no abs
  digits,
  byCodePoint: (text) => text,
  md5: (text) => `md5(${text})`,
  sha256: (saltHex, text) => `sha256(from_hex('${saltHex}') || encode(${text}))`,
};

/** A FLOAT as people write it: 4.1, although as a DOUBLE it is a little less. */
export const shortestDigits = (column: string): string => `CAST(${column} AS VARCHAR)`;

/** The number that a text states. DuckDB would read 36_38 as 3638; people do not. */
export const numberOfText = (text: string): string =>
  `CASE WHEN NOT contains(CAST(${text} AS VARCHAR), '_') THEN TRY_CAST(${text} AS DOUBLE) END`;

/** Texts are ISO 8601, numbers, or of one written format. Times without a zone are in UTC. */
function timeRule(column: string, { typeId }: DuckDBType): TimeRule | undefined {
  const isMissing = `${column} IS NULL`;
  if (LOCAL_TIMES.has(typeId))
    return { seconds: () => ofTimestamp(`TRY_CAST(${column} AS TIMESTAMP)`), number: null, isMissing };
  if (typeId === DuckDBTypeId.TIMESTAMP_TZ) return { seconds: () => ofTimestamp(column), number: null, isMissing };
  if (typeId === DuckDBTypeId.BIGINT)
    return {
      seconds: (unit) => (unit === 1 ? column : unit === "day" ? ofDay(column) : `(${column} // ${unit})`),
      number: column,
      isMissing,
      secondsBy: (format) => secondsBy(`CAST(${column} AS VARCHAR)`, format),
    };
  if (NUMBERS.has(typeId)) {
    const number = `CAST(${column} AS DOUBLE)`;
    return { seconds: (unit) => ofNumber(number, unit), number, isMissing };
  }
  return typeId === DuckDBTypeId.VARCHAR ? textRule(column) : undefined;
}

function textRule(column: string): TimeRule {
  const number = `(${numberOfText(column)})`;
  const text = `trim(${column})`; // DuckDB refuses a blank after a day
  const iso = isoTime(text);
  return {
    seconds: (unit) => `CASE WHEN ${number} IS NOT NULL THEN ${ofNumber(number, unit)} ELSE ${ofTimestamp(iso)} END`,
    number,
    isMissing: `(${column} IS NULL OR ${text} = '')`,
    secondsBy: (format) => secondsBy(text, format),
    texts: { text, isUnread: `${number} IS NULL AND ${text} <> '' AND ${iso} IS NULL` },
  };
}

/** A comment after the offset is left out: the name of the zone in JavaScript's and in e-mails' times. */
function secondsBy(text: string, format: string): string {
  const read = format.endsWith("%z") ? `regexp_replace(${text}, ' [(].*[)]$', '')` : text;
  return ofTimestamp(`CAST(try_strptime(${read}, ${literal(format)}) AS TIMESTAMPTZ)`, "TIMESTAMPTZ '1000-01-01'");
}

/**
 * The timestamp of an ISO 8601 text. DuckDB's cast reads most forms. Basic forms, a comma before the fraction, minutes before a zone and
 * a blank before an offset are rewritten for it. It would also read 01/10/25 as a day of the year 1, so the year must have four digits.
 * After a blank it would look for an offset or PM among the names of time zones, which takes a quarter of a millisecond.
 */
function isoTime(text: string): string {
  const extended = [
    ["\\[.*\\]$", ""], // the zone that Java writes after its offset
    [" (Z$|[+-]\\d{2})", "\\1"],
    ["^(\\d{4})(\\d{2})(\\d{2})([T ]|$)", "\\1-\\2-\\3\\4"],
    ["([T ]\\d{2})(\\d{2})(\\d{2})?", "\\1:\\2:\\3"],
    [":(Z|[+-]|$)", "\\1"], // of basic minutes
    ["([T ]\\d{2}:\\d{2})(Z|[+-])", "\\1:00\\2"],
    ["(:\\d{2}),(\\d)", "\\1.\\2"],
  ].reduce((sql, [pattern, replacement]) => `regexp_replace(${sql}, '${pattern}', '${replacement}')`, text);
  const cast = (sql: string) => `TRY_CAST(${sql} AS TIMESTAMPTZ)`;
  return `CASE WHEN regexp_full_match(${text}, '${DAY_AND_CLOCK}( ${ZONE})?') THEN coalesce(${cast(text)}, ${cast(extended)})
    WHEN regexp_full_match(${text}, '${DAY_AND_CLOCK} (Z|[+-]\\d{2}(:?\\d{2})?)') THEN ${cast(extended)}
    WHEN ${text} IN ('infinity', '-infinity') THEN ${cast(text)} END`;
}
const DAY_AND_CLOCK = "\\d{4}[^ T]*([T ] *[^ ]*)?";
const ZONE = "((?i:UTC|GMT)|[A-Z](ST|ET)|[A-Z][A-Za-z]+/[A-Za-z_/+-]+)";

const ofTimestamp = (timestamp: string, from = "TIMESTAMPTZ '-infinity'") =>
  `CASE WHEN isfinite(${timestamp}) AND ${timestamp} >= ${from} THEN CAST(floor(epoch(${timestamp})) AS BIGINT) END`;
const ofNumber = (number: string, unit: TimeUnit) =>
  unit === "day" ? ofDay(number) : `TRY_CAST(floor(${number} / ${unit}) AS BIGINT)`;
/** The digits of a day. NULL for a day that the calendar lacks. */
const ofDay = (number: string) =>
  `CAST(epoch(try_strptime(CAST(TRY_CAST(${number} AS BIGINT) AS VARCHAR), '%Y%m%d')) AS BIGINT)`;
