import type { DuckDBConnection } from "@duckdb/node-api";
import { identifier } from "../sql-text.ts";
import type { SourceFile } from "./files.ts";
import { type StreamLimits, streamRows } from "./stream.ts";

/** Text that is parsed within two seconds. */
const TEXT_BYTES_MAX = 50_000_000;
/** Bytes of text per byte of a compressed file, roughly. */
const COMPRESSION_RATIO = 8;
/** Lines that a note names. */
const NAMED_MAX = 5;

/** True when the types of columns were found from all rows. If not, a later value of another type is not a malformed line. */
type Typing = { readonly typesAreSure: boolean };

/** The records that did not fit. A quote that is not closed makes one record of several lines. */
const recordsSql = ({ typesAreSure }: Typing) =>
  `(SELECT scan_id, file_id, line, max(1 + strlen(csv_record) - strlen(replace(csv_record, chr(10), ''))) AS lines
    FROM (SELECT *, rtrim(csv_line, chr(10)) AS csv_record FROM reject_errors)
    WHERE ${typesAreSure ? "true" : "error_type != 'CAST'"} GROUP BY ALL)`;

/** Count of lines that did not fit their file's columns so far. Lines of a file are counted once a scan has reached its end. */
export async function rejectCount(connection: DuckDBConnection, typing: Typing): Promise<number> {
  const tables = "SELECT count(*) FROM duckdb_tables() WHERE table_name = 'reject_errors' AND temporary";
  if ((await connection.runAndReadAll(tables)).value(0, 0) === 0n) return 0;
  const lines = await connection.runAndReadAll(`SELECT coalesce(sum(lines), 0) FROM ${recordsSql(typing)}`);
  return Number(lines.value(0, 0));
}

/** A sentence for each file that names the first lines that did not fit so far. There must be some. */
export async function malformedNotes(
  connection: DuckDBConnection,
  files: readonly SourceFile[],
  typing: Typing,
): Promise<string[]> {
  const found = await connection.runAndReadAll(
    `SELECT file_path, count(*), list(line ORDER BY line)[:${NAMED_MAX}], list(lines ORDER BY line)[:${NAMED_MAX}]
     FROM (SELECT file_path, line, max(lines) AS lines
       FROM ${recordsSql(typing)}
       JOIN (SELECT DISTINCT scan_id, file_id, file_path FROM reject_scans) USING (scan_id, file_id)
       GROUP BY ALL)
     GROUP BY ALL`,
  );
  return found.getRowsJson().map(([path, count, firstLines, lengths]) => {
    const file = files.find((one) => one.path === path);
    const places = (firstLines as string[]).map((line, i) => {
      const more = Number((lengths as string[])[i]) - 1;
      return more > 0 ? `${line} (with the ${more} after it, up to the next quote)` : line;
    });
    const others = Number(count) > places.length ? ", …" : "";
    const name = JSON.stringify(file?.shownAs ?? "a file");
    return `${name}: lines that do not fit its columns were left out: ${places.join(", ")}${others}`;
  });
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
  for (const table of new Set(texts.map((file) => file.table))) {
    // All columns are read, because lines are only checked for the columns that are read.
    const { chunks } = await streamRows(connection, `SELECT count(COLUMNS(*)) FROM ${identifier(table)}`, limits);
    for await (const _ of chunks); // reads to the end, which frees the connection
  }
  return (await rejectCount(connection, typing)) - before;
}
