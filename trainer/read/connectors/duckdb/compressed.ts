import { createReadStream } from "node:fs";
import { Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createZstdDecompress } from "node:zlib";
import { StageError } from "../../../stage/stage-error.ts";
import type { SourceFile } from "./files.ts";

/**
 * Resolves once a compressed file has been decompressed to its end and its checksum holds. DuckDB itself reads a file
 * that was cut off as if it ended there.
 *
 * Throws StageError `file_malformed`; the signal's reason when it is aborted.
 */
export async function verifyCompressed(file: SourceFile, signal: AbortSignal): Promise<void> {
  if (file.compression === "none") return;
  const decompress = file.compression === "gzip" ? createGunzip() : createZstdDecompress();
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  try {
    await pipeline(createReadStream(file.path), decompress, nowhere, { signal });
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw new StageError(
      "fetching",
      "file_malformed",
      `${JSON.stringify(file.shownAs)} is cut off or damaged: its ${file.compression} data do not end as they should; upload it again`,
      { cause: error },
    );
  }
}
