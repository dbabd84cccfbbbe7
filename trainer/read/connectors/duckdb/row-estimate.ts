import type { DuckDBConnection } from "@duckdb/node-api";
import * as z from "zod";
import { literal } from "../sql-text.ts";
import { fileBeginning } from "./file-beginning.ts";
import type { SourceFile } from "./files.ts";
import { type StreamLimits, streamRows } from "./stream.ts";

const NEWLINE = 10;

/**
 * Estimate of a file's rows: from its metadata (Parquet) or the length of its first lines (CSV, JSON Lines); null when unknown.
 * It serves progress and dry runs only, so it never fails.
 */
export async function estimateRows(connection: DuckDBConnection, file: SourceFile): Promise<number | null> {
  try {
    if (file.format === "parquet") {
      const sql = `SELECT sum(num_rows) FROM parquet_file_metadata(${literal(file.path)})`;
      return Number((await connection.runAndReadAll(sql)).value(0, 0));
    }
    return file.format === "json" ? null : await estimateLines(file);
  } catch {
    return null; // reading the file will report what is wrong with it
  }
}

/** Files whose rows are estimated, spread over all. The others count by their sizes. */
const ESTIMATED_FILES = 8;

/** Estimate of the rows of several files with the same columns; null when unknown. */
export async function estimateRowsOfAll(
  connection: DuckDBConnection,
  files: readonly SourceFile[],
): Promise<number | null> {
  const step = Math.max(1, Math.floor(files.length / ESTIMATED_FILES));
  const some = files.filter((_, i) => i % step === 0).slice(0, ESTIMATED_FILES);
  const counts = await Promise.all(some.map((file) => estimateRows(connection, file)));
  if (counts.includes(null)) return null;
  const rows = counts.reduce<number>((sum, count) => sum + count!, 0);
  return Math.round((rows * sizeOf(files)) / Math.max(1, sizeOf(some)));
}

export const sizeOf = (files: readonly SourceFile[]): number =>
  files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);

/** Lines in the beginning of a file, scaled to the size of the file. */
async function estimateLines(file: SourceFile): Promise<number> {
  const { bytes, bytesRead } = await fileBeginning(file);
  let lines = 0;
  for (const byte of bytes) if (byte === NEWLINE) lines++;
  const header = file.format === "jsonl" ? 0 : 1;
  return Math.max(0, bytesRead >= file.sizeBytes ? lines - header : Math.round((lines * file.sizeBytes) / bytesRead));
}

const Plan = z.tuple([z.object({ extra_info: z.object({ "Estimated Cardinality": z.coerce.number() }) })]);

/** DuckDB's own estimate of a query's rows; null when it has none. */
export async function plannedRows(
  connection: DuckDBConnection,
  query: string,
  limits: StreamLimits,
): Promise<number | null> {
  const { chunks } = await streamRows(connection, `EXPLAIN (FORMAT JSON) SELECT * FROM (\n${query}\n)`, limits);
  let plan = "";
  for await (const chunk of chunks) for (const [, text] of chunk.getRows()) plan += text;
  const parsed = Plan.safeParse(JSON.parse(plan));
  return parsed.success ? parsed.data[0].extra_info["Estimated Cardinality"] : null;
}
