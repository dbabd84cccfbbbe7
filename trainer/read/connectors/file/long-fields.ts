/**
 * Quoted values with many line ends. A quote that opens in one row and closes in another makes one value of all rows between them,
 * which is good CSV, so nothing else would say that they are missing.
 */
import { open } from "node:fs/promises";
import { fileBeginning } from "../duckdb/file-beginning.ts";
import type { SourceFile } from "../duckdb/files.ts";

/** Line ends from which a value is reported. Descriptions of items rarely have as many. */
export const LINE_ENDS_MIN = 20;
const NAMED_MAX = 5;
const CHUNK_BYTES = 1 << 20;
const [QUOTE, NEWLINE] = [0x22, 0x0a];
/** A quote opens a value only after one of these. */
const BEFORE_VALUE = new Set(Buffer.from('\n\r,;\t|:"'));

type LongField = { readonly offset: number; readonly lineEnds: number };

/**
 * A sentence about the long values of a file of text with delimiters; undefined where it has none.
 *
 * @param isWhole False, or a compressed file: only its beginning is looked at.
 */
export async function longFieldNote(
  file: SourceFile,
  { isWhole, signal }: { readonly isWhole: boolean; readonly signal: AbortSignal },
): Promise<string | undefined> {
  if (file.format !== "csv" && file.format !== "tsv") return undefined;
  const read = async (add: (bytes: Buffer) => void) => {
    if (isWhole && file.compression === "none") await readAll(file.path, add, signal);
    else add((await fileBeginning(file)).bytes);
  };
  const scan = longFieldScan();
  await read(scan.add);
  const { found } = scan;
  if (found.length === 0) return undefined;
  const named = found.slice(0, NAMED_MAX);
  const lines = linesAt(named.map(({ offset }) => offset));
  await read(lines.add);
  const places = named.map(({ lineEnds }, i) => `lines ${lines.found[i]!} to ${lines.found[i]! + lineEnds}`);
  const others = found.length > NAMED_MAX ? ", …" : "";
  const values = found.length === 1 ? "1 quoted value has" : `${found.length} quoted values have`;
  return (
    `${JSON.stringify(file.shownAs)}: ${values} ${LINE_ENDS_MIN} or more line ends; ` +
    `if a quote is missing there, the rows within are lost: ${places.join(", ")}${others}`
  );
}

async function readAll(path: string, add: (bytes: Buffer) => void, signal: AbortSignal): Promise<void> {
  const handle = await open(path);
  try {
    const buffer = Buffer.alloc(CHUNK_BYTES);
    for (let position = 0; ; ) {
      signal.throwIfAborted();
      const { bytesRead } = await handle.read(buffer, 0, CHUNK_BYTES, position);
      if (bytesRead === 0) return;
      position += bytesRead;
      add(buffer.subarray(0, bytesRead));
    }
  } finally {
    await handle.close();
  }
}

/** Finds the long values of bytes that are added in pieces. */
function longFieldScan() {
  const found: LongField[] = [];
  let added = 0;
  let last = NEWLINE; // of the piece before
  let isQuoted = false;
  let offset = 0; // where the quoted value begins
  let lineEnds = 0; // in it so far
  /** Returns the position after the end of the value, or of the piece. */
  const readQuoted = (bytes: Buffer, from: number): number => {
    for (let i = from; i < bytes.length; i++) {
      if (bytes[i] === NEWLINE) lineEnds++;
      if (bytes[i] !== QUOTE) continue;
      isQuoted = false;
      if (lineEnds >= LINE_ENDS_MIN) found.push({ offset, lineEnds });
      return i + 1;
    }
    return bytes.length;
  };
  /** Returns the position after the next quote, or after the piece. */
  const readUnquoted = (bytes: Buffer, from: number): number => {
    const i = bytes.indexOf(QUOTE, from);
    if (i < 0) return bytes.length;
    isQuoted = BEFORE_VALUE.has(i === 0 ? last : bytes[i - 1]!);
    offset = added + i;
    lineEnds = 0;
    return i + 1;
  };
  const add = (bytes: Buffer) => {
    for (let i = 0; i < bytes.length; ) i = isQuoted ? readQuoted(bytes, i) : readUnquoted(bytes, i);
    added += bytes.length;
    last = bytes.at(-1) ?? last;
  };
  return { found, add };
}

/** Finds the lines of ascending positions, from 1. */
function linesAt(offsets: readonly number[]) {
  const found: number[] = [];
  let added = 0;
  let line = 1;
  const add = (bytes: Buffer) => {
    for (let i = 0; i < bytes.length && found.length < offsets.length; i++) {
      if (added + i === offsets[found.length]) found.push(line);
      if (bytes[i] === NEWLINE) line++;
    }
    added += bytes.length;
  };
  return { found, add };
}
