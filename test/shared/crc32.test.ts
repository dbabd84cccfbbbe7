import { crc32 as reference } from "node:zlib";
import fc from "fast-check";
import { expect, test } from "vitest";
import { crc32 } from "../../shared/crc32.ts";

test("the check value of the CRC catalogue", () =>
  expect(crc32(new TextEncoder().encode("123456789"))).toBe(0xcbf43926));
test("equals the CRC of zlib, for any bytes", () =>
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      expect(crc32(bytes)).toBe(reference(bytes));
    }),
  ));
