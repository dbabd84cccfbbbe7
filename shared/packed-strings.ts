/** Many strings as one run of UTF-8 bytes: a million ids cost their bytes plus 4 each, not a JavaScript object each. */
export type PackedStrings = {
  readonly bytes: Uint8Array; // UTF-8 of all strings, one after another
  readonly start: Uint32Array; // [count + 1] byte offset of each string
};

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export const countOf = (strings: PackedStrings): number => strings.start.length - 1;

/** The string at a position. Throws RangeError outside 0…count−1. */
export function stringAt(strings: PackedStrings, index: number): string {
  const from = strings.start[index];
  const to = strings.start[index + 1];
  if (from === undefined || to === undefined) throw new RangeError(`no string at ${index} of ${countOf(strings)}`);
  return decoder.decode(strings.bytes.subarray(from, to));
}

/** Packs strings in their order. Lone surrogates become U+FFFD. */
export function packStrings(values: readonly string[]): PackedStrings {
  const parts = values.map((value) => encoder.encode(value));
  const start = new Uint32Array(values.length + 1);
  for (const [i, part] of parts.entries()) start[i + 1] = start[i]! + part.length;
  const bytes = new Uint8Array(start.at(-1)!);
  for (const [i, part] of parts.entries()) bytes.set(part, start[i]!);
  return { bytes, start };
}
