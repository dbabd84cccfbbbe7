import type { DuckDBConnection } from "@duckdb/node-api";
import { identifier, literal } from "../sql-text.ts";
import type { FileTable } from "./columns.ts";
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
  const described = await connection.runAndReadAll(`DESCRIBE SELECT * FROM ${source}`);
  const decodings = described.getRows().flatMap(([name, type]) => {
    const decoded = DECODED[String(type)];
    const column = identifier(String(name));
    return decoded === undefined ? [] : [{ column, text: decoded(column) }];
  });
  if (decodings.length === 0) return { columns: [], from: () => source };
  const areTexts = decodings.map(
    ({ column, text }) => `coalesce(bool_and(${column} IS NULL OR TRY(${text}) IS NOT NULL), true)`,
  );
  const rows = typedByRows < 0 ? source : `(FROM ${source} LIMIT ${typedByRows})`;
  const checked = (await connection.runAndReadAll(`SELECT ${areTexts.join(", ")} FROM ${rows}`)).getRows()[0]!;
  const texts = decodings.filter((_, i) => checked[i] === true).map(({ column, text }) => `${text} AS ${column}`);
  const from = texts.length === 0 ? source : `(SELECT * REPLACE (${texts.join(", ")}) FROM ${source})`;
  return { columns: [], from: () => from };
}
