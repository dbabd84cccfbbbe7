/** Checks beside the reading of files: DuckDB takes a file that is cut off or replaced meanwhile for a shorter or different one. */
import { createReadStream } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import { Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createZstdDecompress } from "node:zlib";
import { StageError } from "../../../stage/stage-error.ts";
import type { SourceFile } from "../duckdb/files.ts";
import { sourceError } from "../source-error.ts";

/**
 * Resolves once a compressed file is decompressed to its end and its checksum is right.
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
    const message = `${JSON.stringify(file.shownAs)} is cut off or damaged: its ${file.compression} data do not end as they should; upload it again`;
    throw sourceError({ code: "file_malformed", message }, error);
  }
}

export type FileWatch = {
  /**
   * True when a file was truncated, overwritten or replaced, so that only a part of it may have been read. Lines that were appended
   * to a plain text file, as to a log, are no change.
   */
  hasChanged(): Promise<boolean>;
  end(): void;
};

/** What a file was like at one time. `end` are its last bytes, up to END_BYTES. */
type FileState = { readonly inode: bigint; readonly size: bigint; readonly writtenNs: bigint; readonly end: Buffer };
/** Undefined: the file was absent. */
export type FileStates = ReadonlyMap<SourceFile, FileState | undefined>;

/** `cp` over a file truncates it first, which is only visible until it has written as many bytes again. */
const CHECK_EVERY_MS = 100;
const END_BYTES = 4096;

export const statesOf = async (files: readonly SourceFile[]): Promise<FileStates> =>
  new Map(await Promise.all(files.map(async (file) => [file, await stateOf(file)] as const)));

/** Watches files while they are read. Changes count since the given states. */
export function watchFiles(files: readonly SourceFile[], states: FileStates): FileWatch {
  let wasTruncated = false;
  const timer = setInterval(() => {
    for (const file of files)
      stat(file.path, { bigint: true }).then(
        ({ size }) => {
          wasTruncated ||= size < (states.get(file)?.size ?? 0n);
        },
        () => {
          wasTruncated = true;
        },
      );
  }, CHECK_EVERY_MS).unref();
  return {
    end: () => clearInterval(timer),
    async hasChanged() {
      const same = await Promise.all(files.map((file) => isSame(file, states.get(file))));
      return wasTruncated || same.includes(false);
    },
  };
}

async function isSame(file: SourceFile, before: FileState | undefined): Promise<boolean> {
  const after = await stateOf(file, before?.size);
  if (before === undefined || after === undefined || after.inode !== before.inode) return false;
  if (after.size === before.size) return after.writtenNs === before.writtenNs;
  return mayGrow(file) && after.size > before.size && after.end.equals(before.end);
}

const mayGrow = ({ format, compression }: SourceFile) =>
  compression === "none" && (format === "csv" || format === "tsv" || format === "jsonl");

/** @param endsAt The position up to which `end` is read. Absent: the file's end. */
async function stateOf({ path }: SourceFile, endsAt?: bigint): Promise<FileState | undefined> {
  let file: FileHandle | undefined;
  try {
    file = await open(path);
    const { ino: inode, size, mtimeNs: writtenNs } = await file.stat({ bigint: true });
    const until = Number(endsAt ?? size);
    const from = Math.max(0, until - END_BYTES);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(until - from), 0, until - from, from);
    return { inode, size, writtenNs, end: buffer.subarray(0, bytesRead) };
  } catch {
    return undefined;
  } finally {
    await file?.close();
  }
}

/** The codes of DuckDB's errors when files are truncated, overwritten or deleted while it reads them. */
const CHANGE_CODES = ["file_malformed", "source_query_failed", "source_query_refused"];

/** True when a change of files can have caused the error. */
export const canComeFromChange = (error: unknown): boolean =>
  error instanceof StageError && CHANGE_CODES.includes(error.code);

export const changedError = (files: readonly SourceFile[]): StageError =>
  sourceError({
    code: "file_changed",
    message: `${files.map(({ shownAs }) => JSON.stringify(shownAs)).join(", ")} changed while being read; write to another name and rename it when it is whole`,
    retryable: true,
  });
