import { countBelowIn } from "./binary-search.ts";

/** Many strings in one array of UTF-8 bytes. An id takes its bytes and 4 more, instead of a JavaScript object. */
export type PackedStrings = {
  readonly bytes: Uint8Array; // UTF-8 of all strings, one after another
  readonly start: Uint32Array; // [count + 1] byte offset of each string
};

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export const countOf = (strings: PackedStrings): number => strings.start.length - 1;

/** UTF-8 of a string; a lone surrogate becomes U+FFFD. */
export const utf8Of = (text: string): Uint8Array => encoder.encode(text);

/** Decodes UTF-8. Throws TypeError if the bytes are not UTF-8. */
export const textOf = (bytes: Uint8Array): string => decoder.decode(bytes);

const PIECE_BYTES = 65_536;

/** Whether bytes are UTF-8. They are decoded in pieces, since decoding all at once would need as much memory again. */
export function isUtf8(bytes: Uint8Array): boolean {
  const piecewise = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  try {
    for (let at = 0; at < bytes.length; at += PIECE_BYTES)
      piecewise.decode(bytes.subarray(at, at + PIECE_BYTES), { stream: true });
    piecewise.decode(); // throws if the last character is incomplete
    return true;
  } catch (error) {
    if (error instanceof TypeError) return false;
    throw error;
  }
}

/** The UTF-8 bytes of the string at a position, as a view. Throws RangeError outside 0…count−1. */
export function bytesAt(strings: PackedStrings, index: number): Uint8Array {
  const from = strings.start[index];
  const to = strings.start[index + 1];
  if (from === undefined || to === undefined) throw new RangeError(`no string at ${index} of ${countOf(strings)}`);
  return strings.bytes.subarray(from, to);
}

/** The string at a position. Throws RangeError outside 0…count−1. */
export const stringAt = (strings: PackedStrings, index: number): string => textOf(bytesAt(strings, index));

/** Packs strings in their order. Lone surrogates become U+FFFD. */
export function packStrings(values: readonly string[]): PackedStrings {
  const parts = values.map(utf8Of);
  const start = new Uint32Array(values.length + 1);
  for (const [i, part] of parts.entries()) start[i + 1] = start[i]! + part.length;
  const bytes = new Uint8Array(start.at(-1)!);
  for (const [i, part] of parts.entries()) bytes.set(part, start[i]!);
  return { bytes, start };
}

/** Orders UTF-8 texts by byte, which is the order of code points. Negative, zero or positive. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const common = Math.min(a.length, b.length);
  for (let i = 0; i < common; i++) if (a[i] !== b[i]) return a[i]! - b[i]!;
  return a.length - b.length;
}

/** The position of the first string at or above the text, 0 to count. The strings must be sorted by code point. */
export const lowerBound = (sorted: PackedStrings, text: Uint8Array): number =>
  countBelowIn(countOf(sorted), (at) => compareBytes(bytesAt(sorted, at), text) < 0);
