import { DuckDBTypeId } from "@duckdb/node-api";
import { identifier } from "../connectors/duckdb/quote.ts";
import { idExpression } from "../dataset/id-expression.ts";
import { labelExpression } from "../dataset/label-expression.ts";
import { timeExpression } from "../dataset/time-expression.ts";
import type { Dialect } from "./dialect.ts";

/** Files: the very expressions by which the trainer checks its own rows. */
export const DUCKDB: Dialect = {
  name: "DuckDB",
  identifier,
  arrivesAsCast: () => true,
  id(column, type, which) {
    const id = idExpression(column, type, which);
    // Whether such a column holds integers is known only once every value was looked at.
    if (!id || id.isIntegral !== null) return undefined;
    const isInteger = id.jsonType === "integer";
    return { key: isInteger ? column : id.text.replaceAll("key", column), isInteger, reason: id.reason };
  },
  time: timeExpression,
  label(column, type, label) {
    const expression = labelExpression(column, type, label);
    if (!expression) return undefined;
    // A FLOAT stays one: the bar is compared in the column's own precision.
    const number = type.typeId === DuckDBTypeId.FLOAT ? column : `TRY_CAST(${column} AS DOUBLE)`;
    return { ...expression, number: label.type === "Rating" ? number : null };
  },
  // In the column's own type, so that nothing is rounded across the bound.
  timeLiteral: ({ type }, utc) =>
    type.typeId === DuckDBTypeId.TIMESTAMP_TZ ? `TIMESTAMPTZ '${utc}+00'` : `CAST(TIMESTAMP '${utc}' AS ${type})`,
  magnitude: (number) => `abs(CAST(${number} AS DOUBLE))`,
  digits: (integer) => `CAST(${integer} AS VARCHAR)`,
  byCodePoint: (text) => text,
  md5: (text) => `md5(${text})`,
  sha256: (saltHex, text) => `sha256(from_hex('${saltHex}') || encode(${text}))`,
};
