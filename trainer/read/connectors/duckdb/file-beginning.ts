import { open } from "node:fs/promises";
import { constants, createGunzip, createZstdDecompress, gunzipSync, zstdDecompressSync } from "node:zlib";
import type { SourceFile } from "./files.ts";

const SAMPLE_BYTES = 1 << 20;
const maxOutputLength = 64 * SAMPLE_BYTES;
/** How the beginning of a file is decompressed: flushing instead of finishing, since the sample ends in the middle. */
const DECOMPRESS = {
  none: (bytes: Buffer) => bytes,
  gzip: (bytes: Buffer) => gunzipSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength }),
  zstd: (bytes: Buffer) => zstdDecompressSync(bytes, { finishFlush: constants.ZSTD_e_flush, maxOutputLength }),
} as const;

/** Streams that decompress a whole file. */
export const DECOMPRESSORS = { gzip: createGunzip, zstd: createZstdDecompress } as const;

type Beginning = {
  readonly bytes: Buffer;
  /** Bytes of the file that these were decompressed from. */
  readonly bytesRead: number;
};

/** The beginning of a file, decompressed. Throws when it cannot be read or decompressed. */
export async function fileBeginning({
  path,
  compression,
}: Pick<SourceFile, "path" | "compression">): Promise<Beginning> {
  const file = await open(path);
  const { buffer, bytesRead } = await file
    .read(Buffer.alloc(SAMPLE_BYTES), 0, SAMPLE_BYTES, 0)
    .finally(() => file.close());
  return { bytes: DECOMPRESS[compression](buffer.subarray(0, bytesRead)), bytesRead };
}
