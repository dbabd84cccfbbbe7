import { open } from "node:fs/promises";
import { constants, gunzipSync, zstdDecompressSync } from "node:zlib";
import type { DuckDBConnection } from "@duckdb/node-api";
import { z } from "zod";
import { literal } from "../sql-text.ts";
import type { SourceFile } from "./files.ts";
import { type StreamLimits, streamRows } from "./stream.ts";

const SAMPLE_BYTES = 1 << 20;
const NEWLINE = 10;
const maxOutputLength = 64 * SAMPLE_BYTES;
/** How the beginning of a file is decompressed: flushing instead of finishing, since the sample ends in the middle. */
const DECOMPRESS = {
  none: (bytes: Buffer) => bytes,
  gzip: (bytes: Buffer) => gunzipSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength }),
  zstd: (bytes: Buffer) => zstdDecompressSync(bytes, { finishFlush: constants.ZSTD_e_flush, maxOutputLength }),
} as const;

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

/** Lines in the first SAMPLE_BYTES, scaled to the size of the file. */
async function estimateLines({ path, format, compression, sizeBytes }: SourceFile): Promise<number> {
  const file = await open(path);
  const { buffer, bytesRead } = await file
    .read(Buffer.alloc(SAMPLE_BYTES), 0, SAMPLE_BYTES, 0)
    .finally(() => file.close());
  const text = DECOMPRESS[compression](buffer.subarray(0, bytesRead));
  let lines = 0;
  for (const byte of text) if (byte === NEWLINE) lines++;
  const header = format === "jsonl" ? 0 : 1;
  return Math.max(0, bytesRead >= sizeBytes ? lines - header : Math.round((lines * sizeBytes) / bytesRead));
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
