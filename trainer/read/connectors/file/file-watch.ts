import { type FileHandle, open, stat } from "node:fs/promises";
import { StageError } from "../../../stage/stage-error.ts";
import type { SourceFile } from "../duckdb/files.ts";

export type FileWatch = {
  /**
   * Whether a file was cut, written over or replaced so far, so that what was read of it may be a part. Lines that were added at the end
   * of a plain text, as to a log, are no such change.
   */
  hasChanged(): Promise<boolean>;
  end(): void;
};

type Look = { readonly inode: bigint; readonly size: bigint; readonly writtenNs: bigint; readonly end: Buffer };

/** `cp` over a file begins with cutting it, and is seen only until it has written as much again. */
const LOOK_EVERY_MS = 100;
const END_BYTES = 4096;

/** What files looked like at a moment. */
export type FileLooks = ReadonlyMap<SourceFile, Look | undefined>;

export const lookAtFiles = async (files: readonly SourceFile[]): Promise<FileLooks> =>
  new Map(await Promise.all(files.map(async (file) => [file, await lookAt(file)] as const)));

/** Looks at files while they are read, until it is ended. Changes count from the first looks on. */
export function watchFiles(files: readonly SourceFile[], looks: FileLooks): FileWatch {
  const before = files.map((file) => looks.get(file));
  let wasCut = false;
  const timer = setInterval(() => {
    for (const [i, { path }] of files.entries())
      stat(path, { bigint: true }).then(
        ({ size }) => {
          wasCut ||= size < (before[i]?.size ?? 0n);
        },
        () => {
          wasCut = true;
        },
      );
  }, LOOK_EVERY_MS).unref();
  return {
    end: () => clearInterval(timer),
    async hasChanged() {
      const same = await Promise.all(files.map((file, i) => isSame(file, before[i])));
      return wasCut || same.includes(false);
    },
  };
}

async function isSame(file: SourceFile, before: Look | undefined): Promise<boolean> {
  const after = await lookAt(file, before?.size);
  if (before === undefined || after === undefined || after.inode !== before.inode) return false;
  if (after.size === before.size) return after.writtenNs === before.writtenNs;
  return mayGrow(file) && after.size > before.size && after.end.equals(before.end);
}

const mayGrow = ({ format, compression }: SourceFile) =>
  compression === "none" && (format === "csv" || format === "tsv" || format === "jsonl");

/** Undefined when it is gone. `end` are the bytes before `endsAt`, else the file's last ones. */
async function lookAt({ path }: SourceFile, endsAt?: bigint): Promise<Look | undefined> {
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

/** What DuckDB's errors at files that are cut, overwritten and gone come to. */
const CHANGE_CODES = ["file_malformed", "source_query_failed", "source_query_refused"];

/** Whether an error may come of a change of files. */
export const mayBeOfChange = (error: unknown): boolean =>
  error instanceof StageError && CHANGE_CODES.includes(error.code);

export const changedError = (files: readonly SourceFile[]): StageError =>
  new StageError(
    "fetching",
    "file_changed",
    `${files.map(({ shownAs }) => JSON.stringify(shownAs)).join(", ")} changed while being read; write to another name and rename it when it is whole`,
    { retryable: true },
  );
