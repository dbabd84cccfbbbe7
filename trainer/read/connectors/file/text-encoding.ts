/**
 * Text files as UTF-8. Other encodings are found by their bytes and written again as UTF-8, into files of the connector's own. A mark at
 * the beginning shows UTF-16. A file is Windows-1252, which has the characters of Latin-1, if most of its lines beyond ASCII are not
 * UTF-8.
 */
import { isAscii, isUtf8 } from "node:buffer";
import { createWriteStream } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ConnectorSettings } from "../../../settings.ts";
import { StageError } from "../../../stage/stage-error.ts";
import { DECOMPRESSORS } from "../duckdb/file-beginning.ts";
import { startDeadline } from "../limits.ts";
import { sourceError } from "../source-error.ts";
import type { OpenFile } from "./file-watch.ts";
import { longFieldNote, longFieldScan } from "./long-fields.ts";
import { NEWLINE, textPieces } from "./text-pieces.ts";

type Encoding = "utf-16le" | "utf-16be" | "windows-1252";
const NAMES: Readonly<Record<Encoding, string>> = {
  "utf-16le": "UTF-16",
  "utf-16be": "UTF-16",
  "windows-1252": "Windows-1252",
};

export type Utf8Files = {
  readonly files: readonly OpenFile[];
  /** The encoding of files that are not UTF-8, and long values, as sentences. */
  readonly notes: ReadonlyMap<OpenFile, readonly string[]>;
  /** Removes what was written. */
  close(): Promise<void>;
};

/** For a dry run, only the beginning of a file is looked at. Throws StageError `file_malformed`, `source_out_of_disk`; `source_timeout`. */
export async function asUtf8(opened: readonly OpenFile[], settings: ConnectorSettings): Promise<Utf8Files> {
  const { tempDirectory, diskBytesMax } = settings;
  const isWhole = settings.typedByRows === undefined;
  const { signal, end } = startDeadline(new AbortController().signal, settings.timeoutSeconds);
  const notes = new Map<OpenFile, readonly string[]>();
  let folder: string | undefined;
  let bytesLeft = diskBytesMax;
  const close = async () => {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  };
  try {
    for (const file of opened) {
      const found = await lookInto(file, { isWhole, signal });
      if (found.encoding === undefined) {
        notes.set(file, found.notes);
        continue;
      }
      await mkdir(tempDirectory, { recursive: true });
      folder ??= await mkdtemp(join(tempDirectory, "utf8-"));
      const path = join(folder, String(notes.size));
      const sizeBytes = await writeAsUtf8(file, found.encoding, { path, bytesMax: bytesLeft, signal });
      bytesLeft -= sizeBytes;
      const text: OpenFile = { ...file, path, sizeBytes, compression: "none" };
      const note = `${JSON.stringify(file.shownAs)} is not UTF-8; it was read as ${NAMES[found.encoding]}`;
      notes.set(text, [note, ...(await lookInto(text, { isWhole, signal })).notes]);
    }
    return { files: [...notes.keys()], notes, close };
  } catch (error) {
    await close();
    throw error;
  } finally {
    end();
  }
}

/** Files that are no tables by how they begin, and what to do about it. An Excel workbook is a ZIP archive. */
const NO_TABLES: readonly (readonly [RegExp, string])[] = [
  [/^PK[^ -~]/, "is a ZIP archive or an Excel workbook: unpack it, or save its table as CSV"],
  [/^version https:[/][/]git-lfs[.]github[.]com/, "is only a pointer of Git LFS: fetch the file with git lfs pull"],
  [/^SQLite format 3/, "is an SQLite database: write the table to a CSV file"],
  [/^[^ -~]*\s*<(\?xml|!doctype|html|rss|feed)\b/i, "is XML or a web page: write its rows to a CSV or JSON file"],
  [
    /^[^ -~]*\s*(--\s|[/][*]!|(insert into|create table|drop table|begin transaction|pragma)\b)/i,
    "has statements of SQL: load it into a database, and write the table to a CSV file",
  ],
  [/^\s*\[?\s*\{\s*u?'/, "has dictionaries of Python, which are not JSON: write them with json.dumps"],
];
const BEGINNING_BYTES = 100;

function refuseNoTable(text: Buffer, file: OpenFile): void {
  const beginning = text.toString("latin1", 0, BEGINNING_BYTES);
  const found = NO_TABLES.find(([begins]) => begins.test(beginning));
  if (found) throw sourceError({ code: "file_malformed", message: `${JSON.stringify(file.shownAs)} ${found[1]}` });
}

type Extent = Parameters<typeof textPieces>[1];

/** The encoding of a file that is not UTF-8, and what to say of one that is. */
async function lookInto(file: OpenFile, extent: Extent) {
  const notes: string[] = [];
  if (file.format === "parquet") return { encoding: undefined, notes };
  const scan = file.format === "csv" || file.format === "tsv" ? longFieldScan() : undefined;
  let isFirst = true;
  let isAllUtf8 = true;
  for await (const text of textPieces(file, extent)) {
    if (isFirst && text[0] === 0xff && text[1] === 0xfe) return { encoding: "utf-16le", notes } as const;
    if (isFirst && text[0] === 0xfe && text[1] === 0xff) return { encoding: "utf-16be", notes } as const;
    if (isFirst) refuseNoTable(text, file);
    if (isFirst && text.subarray(0, text.indexOf(NEWLINE) + 1 || text.length).includes(0)) {
      const message = `${JSON.stringify(file.shownAs)} is not a text file: its first line has NUL characters; expected UTF-8 or UTF-16 with its mark`;
      throw sourceError({ code: "file_malformed", message });
    }
    isFirst = false;
    isAllUtf8 &&= isUtf8(text);
    scan?.add(text);
  }
  const encoding = isAllUtf8 ? undefined : await encodingByLines(textPieces(file, extent));
  const note = await longFieldNote(file.shownAs, scan?.found ?? [], textPieces(file, extent));
  return { encoding, notes: note === undefined ? notes : [note] };
}

/** What most of the lines with other than ASCII characters are in. Others of Windows-1252 are hardly ever UTF-8 by chance. */
async function encodingByLines(pieces: AsyncIterable<Buffer>): Promise<Encoding | undefined> {
  let balance = 0;
  for await (const text of pieces)
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
  const [shown, name] = [JSON.stringify(file.shownAs), NAMES[encoding]];
  let [bytes, line] = [0, 1];
  const recode = async function* (chunks: AsyncIterable<Buffer | undefined>) {
    const decoder = new TextDecoder(encoding, { fatal: true, ignoreBOM: false });
    for await (const chunk of chunks) {
      const text = decoder.decode(chunk, { stream: true });
      bytes += Buffer.byteLength(text);
      line += text.split("\n").length - 1;
      const message = `${shown} needs more temporary disk space than is there to be read as ${name}; write it in UTF-8`;
      if (bytes > bytesMax) throw sourceError({ code: "source_out_of_disk", message });
      yield text;
    }
    decoder.decode(); // throws where the last character is not whole
  };
  const plain = file.compression === "none" ? new PassThrough() : DECOMPRESSORS[file.compression]();
  const source = file.handle.createReadStream({ start: 0, autoClose: false });
  try {
    await pipeline(source, plain, recode, createWriteStream(path, { mode: 0o600 }), { signal });
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (error instanceof StageError) throw error;
    const isOther = (error as NodeJS.ErrnoException).code === "ERR_ENCODING_INVALID_ENCODED_DATA";
    const message = isOther
      ? `${shown} begins as ${name}, but is not, shortly after line ${line}; write it in UTF-8`
      : `${shown} cannot be read as ${name}`;
    throw sourceError({ code: "file_malformed", message }, error);
  }
  return bytes;
}
