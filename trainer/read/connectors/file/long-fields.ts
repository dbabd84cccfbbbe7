/**
 * Quoted values with many line ends. A quote that opens in one row and closes in another makes one value of all rows between them,
 * which is good CSV, so nothing else would say that they are missing.
 */
import { NEWLINE } from "./text-pieces.ts";

/** Line ends from which a value is reported. Descriptions of items rarely have as many. */
const LINE_ENDS_MIN = 20;
const NAMED_MAX = 5;
const QUOTE = 0x22;
/** A quote opens a value only after one of these. */
const BEFORE_VALUE = new Set(Buffer.from('\n\r,;\t|:"'));

type LongField = { readonly offset: number; readonly lineEnds: number };

/** Finds the long values of a text with delimiters that is added in pieces. */
export function longFieldScan() {
  const found: LongField[] = [];
  let added = 0;
  let last = NEWLINE; // of the piece before
  let isQuoted = false;
  let offset = 0; // where the quoted value begins
  let lineEnds = 0; // in it so far
  const opensAt = (bytes: Buffer, i: number) => BEFORE_VALUE.has(i === 0 ? last : bytes[i - 1]!);
  const add = (bytes: Buffer) => {
    for (let i = 0; i < bytes.length; i++) {
      if (isQuoted) {
        if (bytes[i] === NEWLINE) lineEnds++;
        if (bytes[i] !== QUOTE) continue;
        isQuoted = false;
        if (lineEnds >= LINE_ENDS_MIN) found.push({ offset, lineEnds });
      } else {
        i = bytes.indexOf(QUOTE, i);
        if (i < 0) break;
        isQuoted = opensAt(bytes, i);
        [offset, lineEnds] = [added + i, 0];
      }
    }
    added += bytes.length;
    last = bytes.at(-1) ?? last;
  };
  return { found, add };
}

/**
 * A sentence about the long values of a file; undefined where it has none.
 *
 * @param pieces The file once more, to find the lines of the values.
 */
export async function longFieldNote(
  shownAs: string,
  found: readonly LongField[],
  pieces: AsyncIterable<Buffer>,
): Promise<string | undefined> {
  if (found.length === 0) return undefined;
  const named = found.slice(0, NAMED_MAX);
  const lines = await linesAt(
    named.map(({ offset }) => offset),
    pieces,
  );
  const places = named.map(({ lineEnds }, i) => `lines ${lines[i]!} to ${lines[i]! + lineEnds}`);
  const others = found.length > NAMED_MAX ? ", …" : "";
  const values = found.length === 1 ? "1 quoted value has" : `${found.length} quoted values have`;
  return (
    `${JSON.stringify(shownAs)}: ${values} ${LINE_ENDS_MIN} or more line ends; ` +
    `if a quote is missing there, the rows within are lost: ${places.join(", ")}${others}`
  );
}

/** The lines of ascending positions, from 1. */
async function linesAt(offsets: readonly number[], pieces: AsyncIterable<Buffer>): Promise<number[]> {
  const lines: number[] = [];
  let [at, line] = [0, 1];
  for await (const piece of pieces)
    for (const byte of piece) {
      if (at++ === offsets[lines.length]) lines.push(line);
      if (lines.length === offsets.length) return lines;
      if (byte === NEWLINE) line++;
    }
  return lines;
}
