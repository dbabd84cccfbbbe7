import fc from "fast-check";
import { expect, test } from "vitest";
import { FormatError } from "../../shared/assert.ts";
import { bytesOf, createSink, putByte, putBytes, putVarint, takeByte, takeVarint } from "../../shared/byte-sink.ts";

const number = fc.oneof(fc.nat(300), fc.nat(0xffffffff), fc.constantFrom(0, 127, 128, 16_383, 16_384, 2 ** 32 - 1));

test("numbers are read back in order, even if the sink had to grow", () =>
  fc.assert(
    fc.property(fc.array(number), (values) => {
      const sink = createSink(1);
      for (const value of values) putVarint(sink, value);
      const source = { bytes: bytesOf(sink), at: 0 };
      expect(values.map(() => takeVarint(source))).toEqual(values);
      expect(source.at).toBe(source.bytes.length);
    }),
  ));

test.each<[number, string]>([
  [0, "00"],
  [127, "7f"],
  [128, "8001"],
  [300, "ac02"],
  [2 ** 32 - 1, "ffffffff0f"],
])("%i is written as %s", (value, hex) => {
  const sink = createSink();
  putVarint(sink, value);
  expect(Buffer.from(bytesOf(sink)).toString("hex")).toBe(hex);
});

test.each([-1, 1.5, 2 ** 32, Number.NaN])("%d is not a varint", (value) =>
  expect(() => putVarint(createSink(), value)).toThrow("32 unsigned bits"),
);

test.each([
  ["nothing", ""],
  ["a number cut off", "ff"],
  ["33 bits", "ffffffff1f"],
  ["2^32", "8080808010"],
  ["more than five bytes", "808080808001"],
  ["a zero written as two bytes", "8000"],
])("%s is refused", (_, hex) =>
  expect(() => takeVarint({ bytes: Buffer.from(hex, "hex"), at: 0 })).toThrow(FormatError),
);

test("bytes are written and read unchanged", () => {
  const sink = createSink(0);
  putByte(sink, 1);
  putBytes(sink, Uint8Array.of(2, 3));
  expect([...bytesOf(sink)]).toEqual([1, 2, 3]);
  expect(takeByte({ bytes: bytesOf(sink), at: 2 })).toBe(3);
  expect(() => takeByte({ bytes: bytesOf(sink), at: 3 })).toThrow(FormatError);
});
