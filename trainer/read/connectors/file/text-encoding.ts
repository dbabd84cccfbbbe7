/**
 * Text files as UTF-8. Other encodings are found by their bytes and written again as UTF-8, into files of the connector's own.
 *
 * | bytes | read as |
 * |---|---|
 * | FF FE or FE FF at the beginning | UTF-16, little or big endian |
 * | not UTF-8, as most lines with characters beyond ASCII | Windows-1252, which has those of Latin-1 |
 * | all others | UTF-8; lines that are not are counted as malformed |
 */
import { isAscii, isUtf8 } from "node:buffer";
import { createWriteStream } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createZstdDecompress } from "node:zlib";
import { StageError } from "../../../stage/stage-error.ts";
import { fileBeginning } from "../duckdb/file-beginning.ts";
import { startDeadline } from "../limits.ts";
import { sourceError } from "../source-error.ts";
import type { OpenFile } from "./file-watch.ts";
import { longFieldNote } from "./long-fields.ts";

type Encoding = "utf-16le" | "utf-16be" | "windows-1252";
const NAMES: Readonly<Record<Encoding, string>> = {
  "utf-16le": "UTF-16",
  "utf-16be": "UTF-16",
  "windows-1252": "Windows-1252",
};
const NEWLINE = 10;
const CHUNK_BYTES = 1 << 20;
/** DuckDB refuses lines of half of this. */
const LINE_BYTES_MAX = 4 << 20;

export type Utf8Files = {
  readonly files: readonly OpenFile[];
  /** The encoding of files that are not UTF-8, and long values, as sentences. */
  readonly notes: ReadonlyMap<OpenFile, readonly string[]>;
  /** Removes what was written. */
  close(): Promise<void>;
};

export type Utf8Settings = {
  readonly tempDirectory: string;
  readonly diskBytesMax: number;
  /** False: the encoding of a plain file is found from its beginning alone. */
  readonly isWhole: boolean;
  readonly timeoutSeconds: number;
};

/** Throws StageError `file_malformed`, `source_out_of_disk`; `source_timeout`. */
export async function asUtf8(opened: readonly OpenFile[], settings: Utf8Settings): Promise<Utf8Files> {
  const { tempDirectory, diskBytesMax } = settings;
  const { signal, end } = startDeadline(new AbortController().signal, settings.timeoutSeconds);
  const notes = new Map<OpenFile, readonly string[]>();
  const files: OpenFile[] = [];
  let folder: string | undefined;
  let bytesLeft = diskBytesMax;
  const close = async () => {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  };
  try {
    for (const file of opened) {
      const encoding = await encodingOf(file, settings.isWhole, signal);
      let text = file;
      if (encoding !== undefined) {
        await mkdir(tempDirectory, { recursive: true });
        folder ??= await mkdtemp(join(tempDirectory, "utf8-"));
        const path = join(folder, String(files.length));
        const sizeBytes = await writeAsUtf8(file, encoding, { path, bytesMax: bytesLeft, signal });
        bytesLeft -= sizeBytes;
        text = { ...file, path, sizeBytes, compression: "none" };
      }
      files.push(text);
      const read = encoding && `${JSON.stringify(file.shownAs)} is not UTF-8; it was read as ${NAMES[encoding]}`;
      const long = await longFieldNote(text, { isWhole: settings.isWhole, signal }).catch(() =>
        signal.throwIfAborted(),
      );
      notes.set(
        text,
        [read, long].filter((note) => note !== undefined),
      );
    }
    return { files, notes, close };
  } catch (error) {
    await close();
    throw error;
  } finally {
    end();
  }
}

async function encodingOf(file: OpenFile, isWhole: boolean, signal: AbortSignal): Promise<Encoding | undefined> {
  if (file.format === "parquet") return undefined;
  const beginning = await fileBeginning(file).catch(() => undefined); // opening the file reports what is wrong with it
  if (beginning === undefined) return undefined;
  const { bytes } = beginning;
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "utf-16le";
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return "utf-16be";
  if (bytes.subarray(0, bytes.indexOf(NEWLINE) + 1 || bytes.length).includes(0)) {
    const message = `${JSON.stringify(file.shownAs)} is not a text file: its first line has NUL characters; expected UTF-8 or UTF-16 with its mark`;
    throw sourceError({ code: "file_malformed", message });
  }
  // A beginning ends within a character or a line.
  const start = [bytes.subarray(0, bytes.lastIndexOf(NEWLINE) + 1 || bytes.length)];
  const chunks = () => (isWhole && file.compression === "none" ? linesOf(file, signal) : start);
  for await (const text of chunks()) if (!isUtf8(text)) return await encodingByLines(chunks());
  return undefined;
}

/** Whole lines of a file, many at a time, in a buffer that the next ones overwrite. */
async function* linesOf(file: OpenFile, signal: AbortSignal): AsyncGenerator<Buffer> {
  const buffer = Buffer.allocUnsafe(LINE_BYTES_MAX + CHUNK_BYTES);
  let kept = 0; // bytes of the line that the chunk before has begun
  for (let position = 0; ; ) {
    signal.throwIfAborted();
    const { bytesRead } = await file.handle.read(buffer, kept, CHUNK_BYTES, position);
    if (bytesRead === 0) break;
    position += bytesRead;
    const end = kept + bytesRead;
    const lineEnd = buffer.lastIndexOf(NEWLINE, end - 1) + 1;
    const cut = lineEnd === 0 && end >= LINE_BYTES_MAX ? end : lineEnd;
    yield buffer.subarray(0, cut);
    buffer.copyWithin(0, cut, end);
    kept = end - cut;
  }
  yield buffer.subarray(0, kept);
}

/** What most of the lines with other than ASCII characters are in. Others of Windows-1252 are hardly ever UTF-8 by chance. */
async function encodingByLines(chunks: AsyncIterable<Buffer> | Iterable<Buffer>): Promise<Encoding | undefined> {
  let balance = 0;
  for await (const text of chunks)
    for (let at = 0; at < text.length; ) {
      const next = text.indexOf(NEWLINE, at);
      const line = text.subarray(at, next < 0 ? text.length : next);
      if (!isAscii(line)) balance += isUtf8(line) ? -1 : 1;
      at += line.length + 1;
    }
  return balance > 0 ? "windows-1252" : undefined;
}

type Target = { readonly path: string; readonly bytesMax: number; readonly signal: AbortSignal };

/** Returns the bytes written. */
async function writeAsUtf8(file: OpenFile, encoding: Encoding, { path, bytesMax, signal }: Target): Promise<number> {
  const plain = new PassThrough();
  const decompress = { none: plain, gzip: createGunzip(), zstd: createZstdDecompress() }[file.compression];
  const decoder = new TextDecoder(encoding, { fatal: true, ignoreBOM: false });
  const shown = JSON.stringify(file.shownAs);
  let [bytes, line] = [0, 1];
  const decode = (chunk: Buffer | undefined): string => {
    try {
      return chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true });
    } catch (cause) {
      const message = `${shown} begins as ${NAMES[encoding]}, but is not, shortly after line ${line}; write it in UTF-8`;
      throw sourceError({ code: "file_malformed", message }, cause);
    }
  };
  const recode = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      let text: Buffer;
      try {
        text = Buffer.from(decode(chunk));
      } catch (error) {
        return done(error as Error);
      }
      bytes += text.length;
      for (let at = text.indexOf(NEWLINE); at >= 0; at = text.indexOf(NEWLINE, at + 1)) line++;
      const message = `${shown} needs more temporary disk space than is there to be read as ${NAMES[encoding]}; write it in UTF-8`;
      done(bytes > bytesMax ? sourceError({ code: "source_out_of_disk", message }) : null, text);
    },
    flush(done) {
      try {
        done(null, decode(undefined));
      } catch (error) {
        done(error as Error);
      }
    },
  });
  const source = file.handle.createReadStream({ start: 0, autoClose: false });
  try {
    await pipeline(source, decompress, recode, createWriteStream(path, { mode: 0o600 }), { signal });
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (error instanceof StageError) throw error;
    throw sourceError({ code: "file_malformed", message: `${shown} cannot be read as ${NAMES[encoding]}` }, error);
  }
  return bytes;
}
