import type { DuckDBResult } from "@duckdb/node-api";
import type { SourceColumn } from "../connector.ts";

export const columnsOf = (result: DuckDBResult): SourceColumn[] =>
  result.deduplicatedColumnNames().map((name, i) => ({ name, type: result.columnType(i) }));
