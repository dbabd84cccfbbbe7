import { type DuckDBType, DuckDBTypeId } from "@duckdb/node-api";
import { dateText, partedBy, type Since, type SinceSql, timeText } from "../since.ts";

const WHOLE_NUMBERS: ReadonlySet<DuckDBTypeId> = new Set([
  DuckDBTypeId.SMALLINT,
  DuckDBTypeId.INTEGER,
  DuckDBTypeId.BIGINT,
  DuckDBTypeId.HUGEINT,
  DuckDBTypeId.USMALLINT,
  DuckDBTypeId.UINTEGER,
  DuckDBTypeId.UBIGINT,
]);
const TIMES: ReadonlySet<DuckDBTypeId> = new Set([
  DuckDBTypeId.TIMESTAMP,
  DuckDBTypeId.TIMESTAMP_S,
  DuckDBTypeId.TIMESTAMP_MS,
  DuckDBTypeId.TIMESTAMP_NS,
]);

/**
 * The parting in DuckDB's SQL; undefined for types whose order is not certainly that of time.
 *
 * @param column SQL of the column.
 */
export function duckdbSince(column: string, type: DuckDBType, since: Omit<Since, "column">): SinceSql | undefined {
  const number = `epoch_us(${column})`; // NULL for infinity
  if (WHOLE_NUMBERS.has(type.typeId)) return { ...partedBy(column, String(since.number)), number: column };
  // In the column's own precision, so that nothing is rounded across the bound.
  if (TIMES.has(type.typeId)) return { ...partedBy(column, `CAST('${timeText(since)}' AS ${type})`), number };
  if (type.typeId === DuckDBTypeId.TIMESTAMP_TZ)
    return { ...partedBy(column, `TIMESTAMPTZ '${timeText(since)}+00'`), number };
  if (type.typeId === DuckDBTypeId.DATE) return { ...partedBy(column, `DATE '${dateText(since)}'`), number };
  return undefined;
}
