import fc from "fast-check";
import { expect, test } from "vitest";
import { hexOf } from "../../shared/hex.ts";

test("bytes as Node.js writes them in hex", () =>
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      expect(hexOf(bytes)).toBe(Buffer.from(bytes).toString("hex"));
    }),
  ));
