/**
 * The file format of the binary artifacts: a small JSON header, then one buffer of named arrays.
 *
 * Idea. A reader gets typed arrays that are views of the file's bytes, so a 20 MB file costs 20 MB and no parsing. The header says where
 * each array lies and is checked completely before the buffer is read (as in safetensors). All numbers are little-endian.
 *
 *     byte 0         8          12             16                     16 + H                          end
 *     | "SHORTLST" | format u32 | H: header u32 | header: H bytes JSON | buffer: array, pad, array, pad |
 *
 * The header is `{"kind", "metadata", "arrays": [{"name", "dtype", "length", "offset"}]}`, filled up with spaces so
 * that H is a multiple of 8. `offset` counts bytes from the start of the buffer. Arrays are stored in the header's order, each
 * at the next multiple of 8, with zero bytes between them, and the file ends at a multiple of 8. So every array has exactly one possible
 * place: there are no gaps for hidden data and no overlaps, and the same content has the same bytes.
 *
 * Example. {kind: "x", metadata: {}, arrays: {a: u16 [1, 2, 3], b: u8 [9]}} has the header
 * `{"kind":"x","metadata":{},"arrays":[{"name":"a","dtype":"u16","length":3,"offset":0},…"offset":8}]}` and the
 * buffer 01 00 02 00 03 00 00 00 | 09 00 00 00 00 00 00 00.
 *
 * Limits: header 1 MiB, 2,048 arrays, names of 1 to 200 characters, file below 2 GiB. Metadata are small values (counts,
 * a salt); anything that grows with the data is an array. Rules between arrays (offsets rise, codes are below a count) are checked by the
 * file that defines the kind. The manifest's digest protects the bytes; this format has no checksum.
 */
import * as z from "zod";
import { assert, FormatError } from "./assert.ts";

const MAGIC = "SHORTLST";
const FORMAT = 1;
const PREAMBLE_BYTES = 16;
const ALIGNMENT = 8;
export const HEADER_BYTES_MAX = 1 << 20;
export const ARRAYS_MAX = 2048;
const FILE_BYTES_MAX = 2 ** 31 - 1;

const ARRAY_TYPES = {
  u8: Uint8Array,
  i8: Int8Array,
  u16: Uint16Array,
  i16: Int16Array,
  u32: Uint32Array,
  i32: Int32Array,
  f32: Float32Array,
  f64: Float64Array,
} as const;

export type Dtype = keyof typeof ARRAY_TYPES;
type Arrays = {
  u8: Uint8Array;
  i8: Int8Array;
  u16: Uint16Array;
  i16: Int16Array;
  u32: Uint32Array;
  i32: Int32Array;
  f32: Float32Array;
  f64: Float64Array;
};
export type ArrayOf<D extends Dtype> = Arrays[D];
/** The element types that a container can hold. */
export type TypedArray = ArrayOf<Dtype>;

const Header = z.strictObject({
  kind: z.string().max(100),
  metadata: z.unknown(),
  arrays: z
    .array(
      z.strictObject({
        name: z.string().min(1).max(200),
        dtype: z.enum(Object.keys(ARRAY_TYPES) as [Dtype, ...Dtype[]]),
        length: z.int().nonnegative(),
        offset: z.int().nonnegative(),
      }),
    )
    .max(ARRAYS_MAX),
});
type Header = z.infer<typeof Header>;

export type Container<Metadata> = {
  readonly kind: string;
  readonly metadata: Metadata;
  readonly arrays: ReadonlyMap<string, TypedArray>;
};

export function encodeContainer(content: {
  readonly kind: string;
  readonly metadata: unknown;
  readonly arrays: Readonly<Record<string, TypedArray>>;
}): Uint8Array {
  assert(IS_LITTLE_ENDIAN, "this machine is big-endian; containers need a little-endian one");
  const named = Object.entries(content.arrays);
  let end = 0; // bytes of the buffer so far
  const arrays = named.map(([name, array]) => {
    const offset = end;
    end = aligned(offset + array.byteLength);
    return { name, dtype: dtypeOf(array), length: array.length, offset };
  });
  const json = JSON.stringify({ kind: content.kind, metadata: content.metadata, arrays } satisfies Header);
  const text = new TextEncoder().encode(json);
  const headerBytes = aligned(text.length);
  assert(headerBytes <= HEADER_BYTES_MAX, `the header of ${content.kind} has ${headerBytes} bytes`);
  assert(named.length <= ARRAYS_MAX, `${content.kind} has ${named.length} arrays`);
  const bufferStart = PREAMBLE_BYTES + headerBytes;
  assert(bufferStart + end <= FILE_BYTES_MAX, `${content.kind} would have ${bufferStart + end} bytes`);

  const file = new Uint8Array(bufferStart + end);
  file.set(new TextEncoder().encode(MAGIC));
  const view = new DataView(file.buffer);
  view.setUint32(8, FORMAT, true);
  view.setUint32(12, headerBytes, true);
  file.fill(0x20, PREAMBLE_BYTES, bufferStart);
  file.set(text, PREAMBLE_BYTES);
  for (const [i, [, array]] of named.entries())
    file.set(new Uint8Array(array.buffer, array.byteOffset, array.byteLength), bufferStart + arrays[i]!.offset);
  return file;
}

/**
 * The content of a file of this kind. Its arrays are views of `bytes`, or of one copy if `bytes` does not start at a multiple of 8 in its
 * buffer. Throws FormatError.
 */
export function decodeContainer<Metadata>(
  bytes: Uint8Array,
  kind: string,
  schema: z.ZodType<Metadata>,
): Container<Metadata> {
  assert(IS_LITTLE_ENDIAN, "this machine is big-endian; containers need a little-endian one");
  const formatError = (sentence: string) => new FormatError(`${kind}: ${sentence}`);
  const file = bytes.byteOffset % ALIGNMENT === 0 ? bytes : bytes.slice();
  const { header, bufferStart } = headerOf(file, formatError);
  if (header.kind !== kind) throw formatError(`expected this kind of file, found ${JSON.stringify(header.kind)}`);
  checkPlaces(header, file.length - bufferStart, formatError);
  checkPadding(header, file.subarray(bufferStart), formatError);
  const metadata = schema.safeParse(header.metadata);
  if (!metadata.success) throw formatError(`metadata: ${faultsOf(metadata.error)}`);

  const arrays = header.arrays.map(({ name, dtype, length, offset }) => {
    const start = file.byteOffset + bufferStart + offset;
    return [name, new ARRAY_TYPES[dtype](file.buffer as ArrayBuffer, start, length)] as const;
  });
  return { kind, metadata: metadata.data, arrays: new Map(arrays) };
}

/** The array of this name, of one of these types and, if given, of this length. Throws FormatError. */
export function arrayOf<D extends Dtype>(
  container: Container<unknown>,
  name: string,
  expected: { readonly dtypes: readonly D[]; readonly length?: number },
): ArrayOf<D> {
  const array = container.arrays.get(name);
  const where = `${container.kind}: array ${JSON.stringify(name)}`;
  if (array === undefined) throw new FormatError(`${where} is missing`);
  if (!(expected.dtypes as readonly Dtype[]).includes(dtypeOf(array)))
    throw new FormatError(`${where}: expected ${expected.dtypes.join(" or ")}, found ${dtypeOf(array)}`);
  if (expected.length !== undefined && array.length !== expected.length)
    throw new FormatError(`${where}: expected ${expected.length} elements, found ${array.length}`);
  return array as ArrayOf<D>;
}

/** Element type of an array, as the header spells it. */
export function dtypeOf(array: TypedArray): Dtype {
  const found = Object.entries(ARRAY_TYPES).find(([, type]) => array instanceof type);
  assert(found, "a container holds typed arrays of numbers");
  return found[0] as Dtype;
}

/** Views have the machine's byte order, and files are little-endian. */
const IS_LITTLE_ENDIAN = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1;

const faultsOf = (error: z.ZodError) => z.prettifyError(error).slice(0, 300);

type MakeError = (sentence: string) => FormatError;

const aligned = (bytes: number) => Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;

function headerOf(file: Uint8Array, formatError: MakeError): { header: Header; bufferStart: number } {
  if (file.length < PREAMBLE_BYTES)
    throw formatError(`expected at least ${PREAMBLE_BYTES} bytes, found ${file.length}`);
  if (file.length > FILE_BYTES_MAX) throw formatError(`expected at most ${FILE_BYTES_MAX} bytes, found ${file.length}`);
  const magic = String.fromCharCode(...file.subarray(0, MAGIC.length));
  if (magic !== MAGIC) throw formatError(`does not begin with ${MAGIC}`);
  const view = new DataView(file.buffer, file.byteOffset);
  const format = view.getUint32(8, true);
  if (format !== FORMAT) throw formatError(`expected format ${FORMAT}, found ${format}`);
  const headerBytes = view.getUint32(12, true);
  if (headerBytes > HEADER_BYTES_MAX || headerBytes % ALIGNMENT !== 0)
    throw formatError(`expected a header of at most ${HEADER_BYTES_MAX} bytes, a multiple of 8, found ${headerBytes}`);
  const bufferStart = PREAMBLE_BYTES + headerBytes;
  if (bufferStart > file.length)
    throw formatError(`the header needs ${bufferStart} bytes, the file has ${file.length}`);
  const parsed = Header.safeParse(jsonIn(file.subarray(PREAMBLE_BYTES, bufferStart), formatError));
  if (!parsed.success) throw formatError(`header: ${faultsOf(parsed.error)}`);
  return { header: parsed.data, bufferStart };
}

function jsonIn(bytes: Uint8Array, formatError: MakeError): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch (cause) {
    throw formatError(`the header is not JSON (${cause instanceof Error ? cause.message : cause})`);
  }
}

/** Checks that every array begins where the one before it ends, and that the last one ends with the file. */
function checkPlaces(header: Header, bufferBytes: number, formatError: MakeError): void {
  const names = new Set<string>();
  let end = 0;
  for (const { name, dtype, length, offset } of header.arrays) {
    if (names.has(name)) throw formatError(`array ${JSON.stringify(name)} appears twice`);
    names.add(name);
    if (offset !== end) throw formatError(`array ${JSON.stringify(name)}: expected offset ${end}, found ${offset}`);
    // At most 2^53 · 8, which may be inexact but is above the size of any file.
    end = aligned(offset + length * ARRAY_TYPES[dtype].BYTES_PER_ELEMENT);
    if (end > bufferBytes)
      throw formatError(`array ${JSON.stringify(name)} ends at ${end}, beyond the buffer's ${bufferBytes} bytes`);
  }
  if (end !== bufferBytes) throw formatError(`expected a buffer of ${end} bytes, found ${bufferBytes}`);
}

/** Checks that the bytes between arrays are zero. */
function checkPadding(header: Header, buffer: Uint8Array, formatError: MakeError): void {
  for (const { name, dtype, length, offset } of header.arrays) {
    const end = offset + length * ARRAY_TYPES[dtype].BYTES_PER_ELEMENT;
    if (buffer.subarray(end, aligned(end)).some((byte) => byte !== 0))
      throw formatError(`the padding after array ${JSON.stringify(name)} is not zero`);
  }
}
