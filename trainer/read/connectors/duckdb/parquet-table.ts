import type { DuckDBConnection } from "@duckdb/node-api";
import { identifier, literal } from "../sql-text.ts";
import { describeColumns, type FileTable, holdingIn } from "./columns.ts";
import type { SourceFile } from "./files.ts";

/** How columns of bytes are read as texts, by their type. */
const DECODED: Readonly<Record<string, (column: string) => string>> = {
  BLOB: (column) => `decode(${column})`,
  "BLOB[]": (column) => `list_transform(${column}, lambda bytes: decode(bytes))`,
};

/**
 * How a Parquet file is read. Some programs write texts without marking them as UTF-8. Columns whose bytes are all UTF-8 are therefore
 * read as texts; others stay bytes.
 *
 * @param typedByRows Rows whose bytes are checked; −1: all.
 * Throws DuckDB's errors.
 */
export async function parquetTable(
  connection: DuckDBConnection,
  file: SourceFile,
  typedByRows = -1,
): Promise<FileTable> {
  const source = `read_parquet(${literal(file.path)})`;
  const decodings = (await describeColumns(connection, source)).flatMap(({ name, type }) => {
    const column = identifier(name);
    const text = DECODED[type]?.(column);
    return text ? [{ subject: `${text} AS ${column}`, sql: `${column} IS NULL OR TRY(${text}) IS NOT NULL` }] : [];
  });
  const texts = await holdingIn(connection, { from: source, rows: typedByRows }, decodings);
  const from = texts.length === 0 ? source : `(SELECT * REPLACE (${texts.join(", ")}) FROM ${source})`;
  return { columns: [], from: () => from };
}
