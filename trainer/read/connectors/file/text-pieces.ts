import { open } from "node:fs/promises";
import { fileBeginning } from "../duckdb/file-beginning.ts";
import type { SourceFile } from "../duckdb/files.ts";

export const NEWLINE = 10;
const PIECE_BYTES = 1 << 20;
/** DuckDB refuses lines of half of this. */
const LINE_BYTES_MAX = 4 << 20;

/**
 * A file's bytes in pieces of whole lines, none of them empty. The next piece overwrites the one before.
 *
 * @param isWhole False, or a compressed file: only the beginning, and nothing where it is damaged, which opening the file reports.
 */
export async function* textPieces(
  file: SourceFile,
  { isWhole, signal }: { readonly isWhole: boolean; readonly signal: AbortSignal },
): AsyncGenerator<Buffer> {
  if (!isWhole || file.compression !== "none") {
    const { bytes, bytesRead } = await fileBeginning(file).catch(() => ({ bytes: Buffer.alloc(0), bytesRead: 0 }));
    const lineEnd = bytesRead < file.sizeBytes ? bytes.lastIndexOf(NEWLINE) + 1 : 0;
    yield bytes.subarray(0, lineEnd || bytes.length);
    return;
  }
  const handle = await open(file.path);
  try {
    const buffer = Buffer.allocUnsafe(LINE_BYTES_MAX + PIECE_BYTES);
    let kept = 0; // bytes of the line that the piece before has begun
    for (let position = 0; ; ) {
      signal.throwIfAborted();
      const { bytesRead } = await handle.read(buffer, kept, PIECE_BYTES, position);
      if (bytesRead === 0) break;
      position += bytesRead;
      const end = kept + bytesRead;
      const lineEnd = buffer.lastIndexOf(NEWLINE, end - 1) + 1;
      const cut = lineEnd === 0 && end >= LINE_BYTES_MAX ? end : lineEnd;
      if (cut > 0) yield buffer.subarray(0, cut);
      buffer.copyWithin(0, cut, end);
      kept = end - cut;
    }
    if (kept > 0) yield buffer.subarray(0, kept);
  } finally {
    await handle.close();
  }
}
