import { type DuckDBType, DuckDBTypeId } from "@duckdb/node-api";
import { identifier } from "../connectors/sql-text.ts";
import { LOCAL_TIMES, NUMBERS } from "./column-kinds.ts";
import { type Dialect, labelRule, type TimeRule, type TimeUnit } from "./dialect.ts";
import { idExpression } from "./id-expression.ts";

/** The SQL of files, and of the database in which the trainer stages rows. */
export const DUCKDB: Dialect = {
  name: "DuckDB",
  identifier,
  arrivesAsCast: () => true,
  id(column, type, which) {
    const id = idExpression(column, type, which);
    // Whether such a column holds integers is known only after reading all of it.
    if (!id || id.isIntegral !== null) return undefined;
    const isInteger = id.jsonType === "integer";
    return { key: isInteger ? column : id.text.replaceAll("key", column), isInteger, reason: id.reason };
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
  }),
  // In the column's own type, so that nothing is rounded across the bound.
  timeLiteral: ({ type }, utc) =>
    type.typeId === DuckDBTypeId.TIMESTAMP_TZ ? `TIMESTAMPTZ '${utc}+00'` : `CAST(TIMESTAMP '${utc}' AS ${type})`,
  magnitude: (number) => `abs(CAST(${number} AS DOUBLE))`, // the smallest BIGINT has no abs
  digits: (integer) => `CAST(${integer} AS VARCHAR)`,
  byCodePoint: (text) => text,
  md5: (text) => `md5(${text})`,
  sha256: (saltHex, text) => `sha256(from_hex('${saltHex}') || encode(${text}))`,
};

/** A FLOAT as people write it: 4.1, although as a DOUBLE it is a little less. */
export const shortestDigits = (column: string): string => `CAST(${column} AS VARCHAR)`;

/** The number that a text states. DuckDB would read 36_38 as 3638; people do not. */
export const numberOfText = (text: string): string =>
  `CASE WHEN NOT contains(CAST(${text} AS VARCHAR), '_') THEN TRY_CAST(${text} AS DOUBLE) END`;

/** Texts are ISO 8601 or numbers. Times without a zone are in UTC. */
function timeRule(column: string, { typeId }: DuckDBType): TimeRule | undefined {
  const isMissing = `${column} IS NULL`;
  if (LOCAL_TIMES.has(typeId))
    return { seconds: () => ofTimestamp(`TRY_CAST(${column} AS TIMESTAMP)`), number: null, isMissing };
  if (typeId === DuckDBTypeId.TIMESTAMP_TZ) return { seconds: () => ofTimestamp(column), number: null, isMissing };
  if (typeId === DuckDBTypeId.BIGINT)
    return { seconds: (unit) => (unit === 1 ? column : `(${column} // ${unit})`), number: column, isMissing };
  if (NUMBERS.has(typeId)) {
    const number = `CAST(${column} AS DOUBLE)`;
    return { seconds: (unit) => ofNumber(number, unit), number, isMissing };
  }
  if (typeId !== DuckDBTypeId.VARCHAR) return undefined;
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
