import fc from "fast-check";
import { expect, test } from "vitest";
import { bytes, concat, float, message, text, varint } from "../../../../../trainer/learn/numerics/onnx/proto.ts";

const hex = (field: Uint8Array) => Buffer.from(field).toString("hex");

test.each([
  ["the guide's 150 in field 1", varint(1, 150), "089601"],
  ["zero", varint(2, 0), "1000"],
  ["−1, as 64-bit two's complement", varint(1, -1), "08ffffffffffffffffff01"],
  ["a field number of two bytes", varint(20, 7), "a00107"],
  ["the guide's string", text(2, "testing"), "120774657374696e67"],
  ["characters of several bytes, counted in bytes", text(1, "é"), "0a02c3a9"],
  ["a float, little-endian", float(2, 1), "150000803f"],
  ["the guide's embedded message", message(3, [varint(1, 150)]), "1a03089601"],
  ["no bytes", bytes(9, new Uint8Array(0)), "4a00"],
])("%s is encoded as in the protobuf guide", (_, field, expected) => expect(hex(field)).toBe(expected));

test("a varint read back, seven bits at a time, is the number", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }), (value) => {
      const [, ...groups] = varint(1, value);
      expect(groups.reduce((sum, group, i) => sum | (BigInt(group & 127) << BigInt(7 * i)), 0n)).toBe(value);
      expect(groups.map((group) => group >> 7)).toEqual([...groups.slice(1).map(() => 1), 0]);
    }),
  );
});

test("parts are joined in order", () => {
  expect([...concat([Uint8Array.of(1, 2), new Uint8Array(0), Uint8Array.of(3)])]).toEqual([1, 2, 3]);
});
