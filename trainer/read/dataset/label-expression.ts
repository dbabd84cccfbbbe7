import { type DuckDBType, DuckDBTypeId } from "@duckdb/node-api";
import type { Label } from "../../../shared/model-spec.ts";
import { NUMBERS } from "./column-kinds.ts";

/** How SQL reads a column of labels. */
export type LabelExpression = {
  /** UTINYINT: 1 positive, 0 negative, NULL when the value is no label. */
  readonly positive: string;
  /** Of a Rating: FLOAT. */
  readonly rating: string | null;
  readonly isMissing: string;
};

const LABELS: ReadonlySet<DuckDBTypeId> = new Set([
  ...NUMBERS,
  DuckDBTypeId.BIGNUM,
  DuckDBTypeId.BOOLEAN,
  DuckDBTypeId.VARCHAR,
  DuckDBTypeId.ENUM,
]);

/**
 * The expression for a column of labels, or undefined when the type holds none.
 *
 * `Binary` takes true and false, 1 and 0, and the words that mean them; any other value is no label. `Rating` takes
 * finite numbers, positive from `positive_from` on.
 */
export function labelExpression(column: string, type: DuckDBType, label: Label): LabelExpression | undefined {
  if (!LABELS.has(type.typeId)) return undefined;
  const isText = type.typeId === DuckDBTypeId.VARCHAR || type.typeId === DuckDBTypeId.ENUM;
  const isMissing = isText ? `(${column} IS NULL OR trim(${column}) = '')` : `${column} IS NULL`;
  if (label.type === "Rating") {
    const number = isText ? numberOfText(column) : `TRY_CAST(${column} AS DOUBLE)`;
    const finite = `CASE WHEN isfinite(${number}) THEN ${number} END`;
    // In the column's own precision: a FLOAT of 4.1 reaches 4.1, although as a DOUBLE it is a little less.
    const bar = type.typeId === DuckDBTypeId.FLOAT ? `CAST(${label.positive_from} AS FLOAT)` : `${label.positive_from}`;
    const positive = `CAST((${finite}) >= ${bar} AS UTINYINT)`;
    return { positive, rating: `TRY_CAST(${finite} AS FLOAT)`, isMissing };
  }
  return { positive: isText ? positiveWord(column) : positiveNumber(column, type), rating: null, isMissing };
}

function positiveNumber(column: string, type: DuckDBType): string {
  if (type.typeId === DuckDBTypeId.BOOLEAN) return `CAST(${column} AS UTINYINT)`;
  return `CASE WHEN ${column} = 1 THEN 1::UTINYINT WHEN ${column} = 0 THEN 0::UTINYINT END`;
}

/** Of times and attributes too. DuckDB reads 36_38 as 3638; people do not. */
export const numberOfText = (text: string): string =>
  `CASE WHEN NOT contains(CAST(${text} AS VARCHAR), '_') THEN TRY_CAST(${text} AS DOUBLE) END`;

/** What people write for yes and no; also used for Boolean attributes. SQL of type UTINYINT, NULL for other words. */
export function positiveWord(column: string): string {
  const word = `lower(trim(${column}))`;
  // 1.00 is how a DECIMAL says 1.
  return `CASE WHEN ${word} IN ('true', 't', 'yes', 'y', '1') OR rtrim(${word}, '0') = '1.' THEN 1::UTINYINT
    WHEN ${word} IN ('false', 'f', 'no', 'n', '0') OR rtrim(${word}, '0') = '0.' THEN 0::UTINYINT END`;
}
