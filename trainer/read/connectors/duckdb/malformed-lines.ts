import type { DuckDBConnection } from "@duckdb/node-api";
import { identifier } from "../sql-text.ts";
import type { SourceFile } from "./files.ts";
import { type StreamLimits, streamRows } from "./stream.ts";

/** So much text is parsed in a second or two. */
const TEXT_BYTES_MAX = 50_000_000;
/** A byte of a compressed file is about as many of text. */
const UNPACKED = 8;

/** Whether columns have the types that all rows give them. Else a value of another type, further on, is no fault of its line. */
type Typing = { readonly typesAreSure: boolean };

/** Lines left out so far because they do not fit their file's columns. Those of a file count when a scan has reached its end. */
export async function rejectCount(connection: DuckDBConnection, { typesAreSure }: Typing): Promise<number> {
  const tables = await connection.runAndReadAll(
    "SELECT count(*) FROM duckdb_tables() WHERE table_name = 'reject_errors' AND temporary",
  );
  if (Number(tables.value(0, 0)) === 0) return 0;
  const lines = await connection.runAndReadAll(
    `SELECT count(DISTINCT (scan_id, file_id, line)) FROM reject_errors
     WHERE ${typesAreSure ? "true" : "error_type != 'CAST'"}`,
  );
  return Number(lines.value(0, 0));
}

/**
 * Lines that do not fit their file's columns, of files whose scan a LIMIT has ended early: each is parsed once more, to its end. 0 where
 * that would take long.
 */
export async function countMalformed(
  connection: DuckDBConnection,
  files: readonly SourceFile[],
  { limits, ...typing }: Typing & { readonly limits: StreamLimits },
): Promise<number> {
  const texts = files.filter(({ format }) => format === "csv" || format === "tsv");
  const bytesOf = ({ sizeBytes, compression }: SourceFile) => sizeBytes * (compression === "none" ? 1 : UNPACKED);
  if (texts.reduce((sum, file) => sum + bytesOf(file), 0) > TEXT_BYTES_MAX) return 0;
  const before = await rejectCount(connection, typing);
  for (const { table } of texts) {
    // Of every column, since what is not asked for is not judged.
    const { chunks } = await streamRows(connection, `SELECT count(COLUMNS(*)) FROM ${identifier(table)}`, limits);
    for await (const _ of chunks); // the connection is free then
  }
  return (await rejectCount(connection, typing)) - before;
}
