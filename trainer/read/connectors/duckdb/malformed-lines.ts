import type { DuckDBConnection } from "@duckdb/node-api";
import { identifier } from "../sql-text.ts";
import type { SourceFile } from "./files.ts";
import { type StreamLimits, streamRows } from "./stream.ts";

/** Text that is parsed within two seconds. */
const TEXT_BYTES_MAX = 50_000_000;
/** Bytes of text per byte of a compressed file, roughly. */
const COMPRESSION_RATIO = 8;

/** True when the types of columns were found from all rows. If not, a later value of another type is not a malformed line. */
type Typing = { readonly typesAreSure: boolean };

/** Count of lines that did not fit their file's columns so far. Lines of a file are counted once a scan has reached its end. */
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
 * Count of malformed lines in files whose scan a LIMIT has ended early. Each file is parsed again to its end. 0 when that would
 * take long.
 */
export async function countMalformed(
  connection: DuckDBConnection,
  files: readonly SourceFile[],
  { limits, ...typing }: Typing & { readonly limits: StreamLimits },
): Promise<number> {
  const texts = files.filter(({ format }) => format === "csv" || format === "tsv");
  const bytesOf = ({ sizeBytes, compression }: SourceFile) =>
    sizeBytes * (compression === "none" ? 1 : COMPRESSION_RATIO);
  if (texts.reduce((sum, file) => sum + bytesOf(file), 0) > TEXT_BYTES_MAX) return 0;
  const before = await rejectCount(connection, typing);
  for (const { table } of texts) {
    // All columns are read, because lines are only checked for the columns that are read.
    const { chunks } = await streamRows(connection, `SELECT count(COLUMNS(*)) FROM ${identifier(table)}`, limits);
    for await (const _ of chunks); // reads to the end, which frees the connection
  }
  return (await rejectCount(connection, typing)) - before;
}
