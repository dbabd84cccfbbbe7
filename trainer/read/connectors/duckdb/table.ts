import type { DuckDBConnection } from "@duckdb/node-api";
import type { FileTable } from "./columns.ts";
import { csvFunction, sniffCsv, type Typing } from "./csv-dialect.ts";
import type { SourceFile } from "./files.ts";
import { jsonTable } from "./json-table.ts";
import { parquetTable } from "./parquet-table.ts";
import { typeColumns } from "./type-columns.ts";

/** The rows of a text file from which its delimiter and header are found. */
const SNIFFED_ROWS = 20_480;

/**
 * How a file is read. Types of a text file are found from all its rows, because those of a sample would round or drop later values.
 * Lines that do not fit are skipped and recorded in the connection's table reject_errors.
 *
 * @param typedByRows Rows from which the types are found; −1: all.
 * Throws StageError `file_malformed` and DuckDB's errors.
 */
export async function fileTable(connection: DuckDBConnection, file: SourceFile, typedByRows = -1): Promise<FileTable> {
  switch (file.format) {
    case "parquet":
      return await parquetTable(connection, file, typedByRows);
    case "json":
    case "jsonl":
      return await jsonTable(connection, file, typedByRows);
    default:
      return await csvTable(connection, { file, typedByRows });
  }
}

async function csvTable(connection: DuckDBConnection, typing: Typing): Promise<FileTable> {
  const { file } = typing;
  const sniffed = await sniffCsv(connection, { file, typedByRows: SNIFFED_ROWS });
  const columns = await typeColumns(connection, typing, sniffed);
  const typed = (asText?: ReadonlySet<string>) =>
    columns.map(({ name, type }) => ({ name, type: asText?.has(name) ? "VARCHAR" : type }));
  return { columns, from: (asText) => csvFunction(file, { ...sniffed, Columns: typed(asText) }) };
}
