/** Many strings as one run of UTF-8 bytes: a million ids cost their bytes plus 4 each, not a JavaScript object each. */
export type PackedStrings = {
  readonly bytes: Uint8Array; // UTF-8 of all strings, one after another
  readonly start: Uint32Array; // [count + 1] byte offset of each string
};

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export const countOf = (strings: PackedStrings): number => strings.start.length - 1;

/** UTF-8 of a string; a lone surrogate becomes U+FFFD. */
export const utf8Of = (text: string): Uint8Array => encoder.encode(text);

/** The text of UTF-8 bytes. Throws TypeError when they are not UTF-8. */
export const textOf = (bytes: Uint8Array): string => decoder.decode(bytes);

const PIECE_BYTES = 65_536;

/** Whether bytes are UTF-8. A piece at a time: a text of them all would need as much memory again. */
export function isUtf8(bytes: Uint8Array): boolean {
  const piecewise = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  try {
    for (let at = 0; at < bytes.length; at += PIECE_BYTES)
      piecewise.decode(bytes.subarray(at, at + PIECE_BYTES), { stream: true });
    piecewise.decode(); // throws where the last character is cut
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

/** Order of two UTF-8 texts: by byte, which is by code point. Negative, zero or positive. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const shared = Math.min(a.length, b.length);
  for (let i = 0; i < shared; i++) if (a[i] !== b[i]) return a[i]! - b[i]!;
  return a.length - b.length;
}

/** Of strings sorted by code point, the position of the first that is not below the text: 0…count. */
export function lowerBound(sorted: PackedStrings, text: Uint8Array): number {
  let low = 0;
  let high = countOf(sorted);
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareBytes(bytesAt(sorted, middle), text) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
