/** Writes numbers in as few bytes as possible to a growing buffer, and reads them from an untrusted one. */
import { assert, FormatError } from "./assert.ts";

/** The first `length` entries of `bytes` are written. */
export type ByteSink = { bytes: Uint8Array; length: number };

export const createSink = (capacity = 256): ByteSink => ({ bytes: new Uint8Array(capacity), length: 0 });

export const bytesOf = (sink: ByteSink): Uint8Array => sink.bytes.slice(0, sink.length);

export function putByte(sink: ByteSink, byte: number): void {
  reserve(sink, 1);
  sink.bytes[sink.length++] = byte;
}

export function putBytes(sink: ByteSink, bytes: Uint8Array): void {
  reserve(sink, bytes.length);
  sink.bytes.set(bytes, sink.length);
  sink.length += bytes.length;
}

/** Unsigned LEB128 (as in DWARF and protobuf): 7 bits a byte, lowest first. The high bit is set on all bytes but the last. */
export function putVarint(sink: ByteSink, value: number): void {
  assert(value >= 0 && value < 2 ** 32 && Number.isInteger(value), `a varint holds 32 unsigned bits, not ${value}`);
  reserve(sink, 5);
  while (value >= 0x80) {
    sink.bytes[sink.length++] = (value & 0x7f) | 0x80;
    value >>>= 7;
  }
  sink.bytes[sink.length++] = value;
}

function reserve(sink: ByteSink, bytes: number): void {
  if (sink.length + bytes <= sink.bytes.length) return;
  const grown = new Uint8Array(Math.max(sink.bytes.length * 2, sink.length + bytes));
  grown.set(sink.bytes.subarray(0, sink.length));
  sink.bytes = grown;
}

/** The next byte to read is at `at`. */
export type ByteSource = { readonly bytes: Uint8Array; at: number };

export function takeByte(source: ByteSource): number {
  const byte = source.bytes[source.at++];
  if (byte === undefined) throw new FormatError(`expected more than ${source.bytes.length} bytes`);
  return byte;
}

/** Throws FormatError for more than 32 bits, and for a number with unnecessary bytes. */
export function takeVarint(source: ByteSource): number {
  let value = 0;
  for (let power = 1; power < 2 ** 35; power *= 128) {
    const byte = takeByte(source);
    value += (byte & 0x7f) * power;
    if (byte >= 0x80) continue;
    if (value >= 2 ** 32 || (byte === 0 && power > 1)) break;
    return value;
  }
  throw new FormatError(`expected a number of at most 32 bits before byte ${source.at}`);
}
