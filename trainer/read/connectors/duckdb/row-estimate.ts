import { createReadStream } from "node:fs";
import { createGunzip, createZstdDecompress } from "node:zlib";
import type { DuckDBConnection } from "@duckdb/node-api";
import { literal } from "../sql-text.ts";
import type { SourceFile } from "./files.ts";

const SAMPLE_BYTES = 1 << 20;
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

/** Lines in the first SAMPLE_BYTES, scaled to the size of the file. */
async function estimateLines(file: SourceFile): Promise<number> {
  let fileBytes = 0;
  let lines = 0;
  let textBytes = 0;
  const source = createReadStream(file.path, { end: SAMPLE_BYTES - 1 });
  source.on("data", (chunk) => {
    fileBytes += chunk.length;
  });
  const text =
    file.compression === "none"
      ? source
      : source.pipe(file.compression === "gzip" ? createGunzip() : createZstdDecompress());
  try {
    for await (const chunk of text as AsyncIterable<Buffer>) {
      for (const byte of chunk) if (byte === NEWLINE) lines++;
      textBytes += chunk.length;
    }
  } catch (error) {
    // The sample is a part of the compressed file, so its decompression ends with an error.
    if (file.compression === "none" || textBytes === 0) throw error;
  } finally {
    source.destroy();
  }
  const header = file.format === "jsonl" ? 0 : 1;
  const wholeFile = fileBytes >= file.sizeBytes;
  return Math.max(0, Math.round(wholeFile ? lines - header : (lines * file.sizeBytes) / Math.max(1, fileBytes)));
}
