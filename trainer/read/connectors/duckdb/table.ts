import type { DuckDBConnection } from "@duckdb/node-api";
import { literal } from "../sql-text.ts";
import { sniffCsv, type Typing } from "./csv-dialect.ts";
import { csvFunction } from "./csv-function.ts";
import type { SourceFile } from "./files.ts";
import { jsonTable } from "./json-table.ts";
import { withLongNumbersAsText, withoutGuessedTimes } from "./type-columns.ts";

/**
 * The expression after FROM that reads a file. Columns and types of a text file are found from all its rows, because those of a
 * sample would round or drop later values. Lines that do not fit are skipped and recorded in the connection's table reject_errors.
 *
 * @param typedByRows Rows from which the types are found; −1: all.
 * Throws StageError `file_malformed` and DuckDB's errors.
 */
export async function tableFunction(connection: DuckDBConnection, file: SourceFile, typedByRows = -1): Promise<string> {
  switch (file.format) {
    case "parquet":
      return `read_parquet(${literal(file.path)})`;
    case "json":
    case "jsonl":
      return await jsonTable(connection, file, typedByRows);
    default:
      return await csvTable(connection, { file, typedByRows });
  }
}

async function csvTable(connection: DuckDBConnection, typing: Typing): Promise<string> {
  const sniffed = await sniffCsv(connection, typing);
  return csvFunction(typing.file, await withLongNumbersAsText(connection, typing, withoutGuessedTimes(sniffed)));
}
