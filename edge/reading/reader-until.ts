import type { Descriptor } from "../../shared/manifest.ts";
import { type ArtifactReader, ReadError, wholeOf } from "./artifact-reader.ts";
import { DeadlineError, within } from "./deadline.ts";

/** Reads whole files. */
export type FileReader = Pick<ArtifactReader, "file" | "pieces">;

/**
 * The same reader until `endMs`: what is being read then fails, and no more than what is read ahead is read. A single
 * read of the bucket has a deadline of its own, which many that crawl would all keep. Throws ReadError, FormatError.
 */
export function readerUntil(reader: FileReader, endMs: number, nowMs: () => number): FileReader {
  async function* pieces(key: string, descriptor: Descriptor) {
    const source = reader.pieces(key, descriptor)[Symbol.asyncIterator]();
    const next = async () => {
      const leftMs = endMs - nowMs();
      if (leftMs <= 0) throw late(key);
      return await within(leftMs, `reading ${key}`, source.next());
    };
    try {
      for (let piece = await next(); !piece.done; piece = await next()) yield piece.value;
    } catch (error) {
      throw error instanceof DeadlineError ? late(key, error) : error;
    } finally {
      source.return?.().catch(() => undefined); // not awaited: it waits for the read that is under way
    }
  }
  return {
    pieces,
    file: (key, descriptor) => wholeOf(descriptor.size, pieces(key, descriptor)),
  };
}

const late = (key: string, cause?: unknown) => new ReadError(`${key}: the time for reading is over`, { cause });
