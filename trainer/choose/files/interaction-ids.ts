import { type DuckDBType, DuckDBTypeId } from "@duckdb/node-api";
import { idExpression } from "../../read/dataset/id-expression.ts";

/** How SQL reads a column of ids of a file: the same id is the same text, whatever the type of the column. */
export type FileId = {
  /** VARCHAR. */
  readonly text: string;
  /** Whether a value is a number that stands for several ids; null: no value can be. */
  readonly isInexact: string | null;
};

/** @param column SQL of the column. */
export function fileId(column: string, type: DuckDBType): FileId {
  if (type.alias === "JSON") return { text: `(${column} ->> '$')`, isInexact: null };
  if (type.typeId === DuckDBTypeId.BLOB) return { text: textOfBytes(column), isInexact: null };
  const id = idExpression(column, type, "user");
  if (id === undefined) return { text: `CAST(${column} AS VARCHAR)`, isInexact: null };
  return {
    text: id.text.replaceAll(/\bkey\b/g, () => id.key),
    isInexact: id.isIntegral === null ? null : `coalesce((${id.reason}) = 'id_not_exact', false)`,
  };
}

/** The texts that old writers store as bytes; bytes that are no UTF-8 as DuckDB shows them. */
export const textOfBytes = (column: string): string => `coalesce(TRY(decode(${column})), CAST(${column} AS VARCHAR))`;

/** An aggregate over a column of texts: whether all of them are whole numbers with a point, as pandas writes integers among gaps. */
export const areWholeDecimals = (column: string): string =>
  `coalesce(bool_and(regexp_full_match(${column}, '-?(0|[1-9][0-9]*)\\.0+')) FILTER (${column} <> ''), false)`;

/** The whole number of such a text. */
export const withoutPoint = (column: string): string => `split_part(${column}, '.', 1)`;
