import fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { FormatError } from "../../shared/assert.ts";
import {
  ARRAYS_MAX,
  arrayOf,
  decodeContainer,
  dtypeOf,
  encodeContainer,
  HEADER_BYTES_MAX,
  type TypedArray,
} from "../../shared/container.ts";
import { anyCharacter } from "../fixtures/any-text.ts";

const Any = z.unknown();
const sample = () =>
  encodeContainer({ kind: "x", metadata: {}, arrays: { a: Uint16Array.of(1, 2, 3), b: Uint8Array.of(9) } });

const arrays = fc.dictionary(
  fc.string({ minLength: 1, maxLength: 20, unit: anyCharacter }).filter((name) => name !== "__proto__"),
  fc.oneof<fc.Arbitrary<TypedArray>[]>(
    fc.uint8Array(),
    fc.int8Array(),
    fc.uint16Array(),
    fc.int16Array(),
    fc.uint32Array(),
    fc.int32Array(),
    fc.float32Array(),
    fc.float64Array(),
  ),
);

test("arrays are read back bit by bit, as views of the file", () =>
  fc.assert(
    fc.property(arrays, fc.jsonValue(), (content, metadata) => {
      const sent = JSON.parse(JSON.stringify(metadata)) as unknown;
      const file = encodeContainer({ kind: "k", metadata: sent, arrays: content });
      const read = decodeContainer(file, "k", Any);
      expect(read.metadata).toEqual(sent);
      expect([...read.arrays.keys()].sort()).toEqual(Object.keys(content).sort());
      for (const [name, array] of Object.entries(content)) {
        expect(read.arrays.get(name)).toEqual(array);
        expect(read.arrays.get(name)!.buffer).toBe(file.buffer);
      }
    }),
  ));

test("the bytes are those of the example in the header comment", () => {
  const file = sample();
  const headerBytes = new DataView(file.buffer).getUint32(12, true);
  expect(new TextDecoder().decode(file.subarray(0, 8))).toBe("SHORTLST");
  expect(new DataView(file.buffer).getUint32(8, true)).toBe(1);
  expect(headerBytes % 8).toBe(0);
  expect(JSON.parse(new TextDecoder().decode(file.subarray(16, 16 + headerBytes)))).toEqual({
    kind: "x",
    metadata: {},
    arrays: [
      { name: "a", dtype: "u16", length: 3, offset: 0 },
      { name: "b", dtype: "u8", length: 1, offset: 8 },
    ],
  });
  expect([...file.subarray(16 + headerBytes)]).toEqual([1, 0, 2, 0, 3, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0]);
});

test.each([0, 1, 3, 8])("a file that begins at byte %i of its buffer is read", (shift) => {
  const file = sample();
  const moved = new Uint8Array(file.length + shift + 5);
  moved.set(file, shift);
  const read = decodeContainer(moved.subarray(shift, shift + file.length), "x", Any);
  expect(read.arrays.get("a")).toEqual(Uint16Array.of(1, 2, 3));
  expect(read.arrays.get("a")!.buffer === moved.buffer).toBe(shift % 8 === 0);
});

/** The sample with another header, of the right length unless one is given. */
function withHeader(header: unknown, bufferBytes = 16): Uint8Array {
  const text = typeof header === "string" ? header : JSON.stringify(header);
  const bytes = new TextEncoder().encode(text);
  const headerBytes = Math.ceil(bytes.length / 8) * 8;
  const file = new Uint8Array(16 + headerBytes + bufferBytes);
  file.set(new TextEncoder().encode("SHORTLST"));
  new DataView(file.buffer).setUint32(8, 1, true);
  new DataView(file.buffer).setUint32(12, headerBytes, true);
  file.fill(0x20, 16, 16 + headerBytes);
  file.set(bytes, 16);
  return file;
}
const a = { name: "a", dtype: "u16", length: 3, offset: 0 };
const b = { name: "b", dtype: "u8", length: 1, offset: 8 };
const header = (arrays: unknown, more: object = {}) => ({ kind: "x", metadata: {}, arrays, ...more });
const changed = (at: number, value: number, file = sample()) => {
  new DataView(file.buffer).setUint32(at, value, true);
  return file;
};

describe("every wrong header is refused with its reason", () => {
  test("the unchanged header is accepted", () =>
    expect(decodeContainer(withHeader(header([a, b])), "x", Any).arrays.size).toBe(2));
  test.each<[string, Uint8Array, string]>([
    ["nothing at all", new Uint8Array(0), "at least 16 bytes, found 0"],
    ["another magic", changed(0, 7), "does not begin with SHORTLST"],
    ["another format", changed(8, 2), "expected format 1, found 2"],
    ["a header larger than allowed", changed(12, HEADER_BYTES_MAX + 8), "header of at most"],
    ["a header that is not a multiple of 8", changed(12, 20), "multiple of 8"],
    ["a header beyond the file", changed(12, 4096), "the header needs 4112 bytes"],
    ["a header that is not JSON", withHeader("{{"), "not JSON"],
    ["a header that is not UTF-8", withHeader("\u0080".repeat(3)).map((x, i) => (i === 16 ? 0xff : x)), "not JSON"],
    [
      "a text in the header that is not UTF-8",
      withHeader(header([a, b], { metadata: "\u00e9" })).map((x) => (x === 0xc3 ? 0xff : x)),
      "not JSON",
    ],
    ["a header after a byte order mark", withHeader(`\uFEFF${JSON.stringify(header([a, b]))}`), "not JSON"],
    ["a header that is not an object", withHeader("[]"), "header:"],
    ["an unknown field in the header", withHeader(header([a, b], { extra: 1 })), "header:"],
    ["a deep header", withHeader("[".repeat(100_000)), "not JSON"],
    ["another kind", withHeader(header([a, b], { kind: "y" })), 'found "y"'],
    ["an unknown element type", withHeader(header([{ ...a, dtype: "u64" }, b])), "header:"],
    ["a negative length", withHeader(header([{ ...a, length: -1 }, b])), "header:"],
    ["an unknown field of an array", withHeader(header([{ ...a, more: 1 }, b])), "header:"],
    ["a fraction of an element", withHeader(header([{ ...a, length: 1.5 }, b])), "header:"],
    ["an empty name", withHeader(header([{ ...a, name: "" }, b])), "header:"],
    ["a repeated name", withHeader(header([a, { ...b, name: "a" }])), 'array "a" appears twice'],
    ["arrays that overlap", withHeader(header([a, { ...b, offset: 0 }])), "expected offset 8, found 0"],
    ["a hole between arrays", withHeader(header([a, { ...b, offset: 16 }]), 24), "expected offset 8, found 16"],
    [
      "an offset that is not a multiple of 8",
      withHeader(header([a, { ...b, offset: 6 }])),
      "expected offset 8, found 6",
    ],
    ["arrays out of order", withHeader(header([b, a])), "expected offset 0, found 8"],
    ["an array beyond the buffer", withHeader(header([a, { ...b, length: 9 }])), "beyond the buffer's 16 bytes"],
    [
      "a length that overflows",
      withHeader(header([{ ...a, dtype: "f64", length: Number.MAX_SAFE_INTEGER }, b])),
      "beyond the buffer",
    ],
    ["bytes after the last array", withHeader(header([a, b]), 24), "expected a buffer of 16 bytes, found 24"],
    ["bytes hidden in the padding", changed(sample().length - 4, 1), 'padding after array "b"'],
    [
      "too many arrays",
      withHeader(header(Array.from({ length: ARRAYS_MAX + 1 }, (_, i) => ({ ...b, name: `n${i}`, offset: 8 * i })))),
      "header:",
    ],
  ])("%s", (_, file, sentence) => {
    expect(() => decodeContainer(file, "x", Any)).toThrow(FormatError);
    expect(() => decodeContainer(file, "x", Any)).toThrow(sentence);
  });

  test("metadata of another shape", () =>
    expect(() => decodeContainer(sample(), "x", z.strictObject({ n: z.int() }))).toThrow("x: metadata:"));
});

test("the largest number of arrays is written and read, one more is not", () => {
  const write = (count: number) =>
    encodeContainer({
      kind: "k",
      metadata: {},
      arrays: Object.fromEntries(Array.from({ length: count }, (_, i) => [`n${i}`, new Uint8Array()])),
    });
  expect(decodeContainer(write(ARRAYS_MAX), "k", Any).arrays.size).toBe(ARRAYS_MAX);
  expect(() => write(ARRAYS_MAX + 1)).toThrow("k has 2049 arrays");
});

test("a header of the largest size is written and read, a larger one is neither", () => {
  const bare = JSON.stringify({ kind: "k", metadata: "", arrays: [] }).length;
  const write = (characters: number) => encodeContainer({ kind: "k", metadata: "x".repeat(characters), arrays: {} });
  const most = HEADER_BYTES_MAX - bare;
  expect(decodeContainer(write(most), "k", z.string()).metadata).toHaveLength(most);
  expect(() => write(most + 1)).toThrow("the header of k has");
});

test("a file cut anywhere is refused", () => {
  const file = sample();
  for (let length = 0; length < file.length; length++)
    expect(() => decodeContainer(file.slice(0, length), "x", Any)).toThrow(FormatError);
});

test("any flipped bit of the first 16 bytes is refused", () => {
  const file = sample();
  for (let bit = 0; bit < 16 * 8; bit++) {
    const flipped = file.slice();
    flipped[bit >> 3]! ^= 1 << (bit & 7);
    expect(() => decodeContainer(flipped, "x", Any)).toThrow(FormatError);
  }
});

test("arrayOf returns the array or names its fault", () => {
  const container = decodeContainer(sample(), "x", Any);
  expect(arrayOf(container, "a", { dtypes: ["u8", "u16"], length: 3 })).toEqual(Uint16Array.of(1, 2, 3));
  expect(() => arrayOf(container, "c", { dtypes: ["u8"] })).toThrow('x: array "c" is missing');
  expect(() => arrayOf(container, "a", { dtypes: ["u8", "f32"] })).toThrow("expected u8 or f32, found u16");
  expect(() => arrayOf(container, "a", { dtypes: ["u16"], length: 4 })).toThrow("expected 4 elements, found 3");
});

test("dtypeOf names every element type", () =>
  expect([new Uint8Array(), new Int8Array(), new Float32Array(), new Float64Array()].map(dtypeOf)).toEqual([
    "u8",
    "i8",
    "f32",
    "f64",
  ]));
