/**
 * Files that stay open while they are read. Whatever happens to their names, DuckDB reads the opened files. It would take one that
 * is cut off or overwritten meanwhile for a shorter or different one, so changes are looked for.
 */
import { type BigIntStats, constants } from "node:fs";
import { type FileHandle, open, realpath, stat } from "node:fs/promises";
import { Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { hasCode, type StageError } from "../../../stage/stage-error.ts";
import { DECOMPRESSORS } from "../duckdb/file-beginning.ts";
import type { SourceFile } from "../duckdb/files.ts";
import { sourceError } from "../source-error.ts";

/** A file with its descriptor, which `path` names. `end` are its last bytes, up to END_BYTES. */
export type OpenFile = SourceFile & { readonly handle: FileHandle; readonly state: BigIntStats; readonly end: Buffer };

const END_BYTES = 4096;
const MAGIC_BYTES = 64;

/** Opens files that findFiles has found. Throws StageError `file_not_readable`, `file_changed`. */
export async function openFiles(files: readonly SourceFile[]): Promise<OpenFile[]> {
  const opened: OpenFile[] = [];
  try {
    for (const file of files) opened.push(await openFile(file));
    return opened;
  } catch (error) {
    await closeFiles(opened);
    throw error;
  }
}

export const closeFiles = async (files: readonly OpenFile[]): Promise<void> => {
  for (const { handle } of files) await handle.close();
};

async function openFile(file: SourceFile): Promise<OpenFile> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants; // opening a pipe must not wait
  const handle = await open(file.realPath, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch((error) => {
    if (error.code === "EMFILE" || error.code === "ENFILE") {
      const message =
        "More files than the trainer may have open at once; join some of them, or raise the limit (ulimit -n)";
      throw sourceError({ code: "too_many_files", message }, error);
    }
    if (error.code !== "EACCES") throw changedError([file]);
    const message = `${JSON.stringify(file.shownAs)} cannot be read: the trainer has no permission`;
    throw sourceError({ code: "file_not_readable", message }, error);
  });
  const state = await handle.stat({ bigint: true });
  const format = file.isFormatUnknown && state.isFile() ? await formatOf(handle) : {};
  const path = `/dev/fd/${handle.fd}`;
  const opened = { ...file, ...format, path, handle, state, end: await endOf(handle, state.size) };
  if (state.isFile() && (await isStillNamed(opened))) return opened;
  await handle.close();
  throw changedError([file]);
}

/** The format and the compression by the first bytes. What is neither Parquet nor JSON is text with delimiters. */
async function formatOf(handle: FileHandle): Promise<Pick<SourceFile, "format" | "compression">> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAGIC_BYTES), 0, MAGIC_BYTES, 0);
  const start = buffer.subarray(0, bytesRead);
  const begins = (...bytes: number[]) => start.subarray(0, bytes.length).equals(Buffer.from(bytes));
  if (start.toString("latin1", 0, 4) === "PAR1") return { format: "parquet", compression: "none" };
  if (begins(0x1f, 0x8b)) return { format: "csv", compression: "gzip" };
  if (begins(0x28, 0xb5, 0x2f, 0xfd)) return { format: "csv", compression: "zstd" };
  const isJson = /^(\xef\xbb\xbf)?\s*(\{|\[\s*[{\]])/.test(start.toString("latin1"));
  return { format: isJson ? "json" : "csv", compression: "none" };
}

/**
 * True when the file's path leads to the opened file, without links. If a folder of the path was replaced by a link while the file
 * was opened, the opened file is another one, which may lie outside the allowed folders.
 */
async function isStillNamed({ realPath, state }: OpenFile): Promise<boolean> {
  try {
    const named = await stat(realPath, { bigint: true });
    return named.ino === state.ino && named.dev === state.dev && (await realpath(realPath)) === realPath;
  } catch {
    return false;
  }
}

async function endOf(handle: FileHandle, size: bigint): Promise<Buffer> {
  const length = Math.min(END_BYTES, Number(size));
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, Number(size) - length);
  return buffer.subarray(0, bytesRead);
}

/**
 * Resolves once a compressed file is decompressed to its end and its checksum is right.
 *
 * Throws StageError `file_malformed`; the signal's reason when it is aborted.
 */
export async function verifyCompressed(file: OpenFile, signal: AbortSignal): Promise<void> {
  if (file.compression === "none") return;
  const decompress = DECOMPRESSORS[file.compression]();
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const bytes = file.handle.createReadStream({ start: 0, autoClose: false });
  try {
    await pipeline(bytes, decompress, nowhere, { signal });
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    const message = `${JSON.stringify(file.shownAs)} is cut off or damaged: its ${file.compression} data do not end as they should; upload it again`;
    throw sourceError({ code: "file_malformed", message }, error);
  }
}

/** `cp` over a file truncates it first, which is only visible until it has written as many bytes again. */
const CHECK_EVERY_MS = 100;

export function watchFiles(files: readonly OpenFile[]) {
  const truncated = new Set<OpenFile>();
  const look = async (file: OpenFile) => {
    const { size } = await file.handle.stat({ bigint: true });
    if (size < file.state.size) truncated.add(file);
  };
  const timer = setInterval(
    () => {
      for (const file of files) look(file).catch(() => undefined); // the file may have been closed meanwhile
    },
    Math.max(CHECK_EVERY_MS, files.length),
  ).unref();
  return {
    end: () => clearInterval(timer),
    /**
     * True when one of these files was truncated, overwritten or replaced since it was opened. Lines that were appended to a plain
     * text file, as to a log, are no change.
     */
    haveChanged: async (some: readonly OpenFile[]): Promise<boolean> =>
      some.some((file) => truncated.has(file)) || (await Promise.all(some.map(isSame))).includes(false),
  };
}

async function isSame(file: OpenFile): Promise<boolean> {
  const { size, mtimeNs } = await file.handle.stat({ bigint: true });
  if (!(await isStillNamed(file))) return false;
  if (size === file.state.size) return mtimeNs === file.state.mtimeNs;
  return mayGrow(file) && size > file.state.size && (await endOf(file.handle, file.state.size)).equals(file.end);
}

const mayGrow = ({ format, compression }: SourceFile) =>
  compression === "none" && (format === "csv" || format === "tsv" || format === "jsonl");

/** The codes of DuckDB's errors when files are truncated, overwritten or deleted while it reads them. */
const CHANGE_CODES = ["file_malformed", "source_query_failed", "source_query_refused"];

/** True when a change of files can have caused the error. */
export const canComeFromChange = (error: unknown): boolean => hasCode(error, ...CHANGE_CODES);

export const changedError = (files: readonly SourceFile[]): StageError =>
  sourceError({
    code: "file_changed",
    message: `${files.map(({ shownAs }) => JSON.stringify(shownAs)).join(", ")} changed while being read; write to another name and rename it when it is whole`,
    retryable: true,
  });
