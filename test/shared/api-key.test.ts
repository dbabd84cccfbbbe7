import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import fc from "fast-check";
import { expect, test } from "vitest";
import { formatApiKey, hashApiKey, isWellFormedApiKey, withoutApiKeys } from "../../shared/api-key.ts";

const random = fc
  .uint8Array({ minLength: 128, maxLength: 128 })
  .filter((bytes) => bytes.filter((b) => b < 248).length >= 30);

test("a key has the form that is published, and passes its own check", () =>
  fc.assert(
    fc.property(random, (bytes) => {
      const key = formatApiKey(bytes);
      expect(key).toMatch(/^rk_[0-9A-Za-z]{36}$/);
      expect(isWellFormedApiKey(key)).toBe(true);
    }),
  ));

test("the last six characters are the CRC-32 of the thirty before, in base 62", () => {
  const key = formatApiKey(Uint8Array.from({ length: 64 }, (_, i) => i));
  expect(key.slice(3, 33)).toBe("0123456789ABCDEFGHIJKLMNOPQRST");
  const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  const value = [...key.slice(33)].reduce((sum, character) => sum * 62 + digits.indexOf(character), 0);
  expect(value).toBe(crc32(key.slice(3, 33)));
});

test("a changed, lost or added character is detected before any I/O", () =>
  fc.assert(
    fc.property(random, fc.nat(38), fc.constantFrom("0", "A", "z", "_", "é"), (bytes, at, character) => {
      const key = formatApiKey(bytes);
      const changed = key.slice(0, at) + character + key.slice(at + 1);
      expect(isWellFormedApiKey(changed)).toBe(changed === key);
      expect(isWellFormedApiKey(key.slice(0, at) + key.slice(at + 1))).toBe(false);
      expect(isWellFormedApiKey(key.slice(0, at) + character + key.slice(at))).toBe(false);
    }),
  ));

test.each(["", "rk_", "x".repeat(39), "RK_".padEnd(39, "0"), ` ${"rk_".padEnd(39, "0")}`, "rk_".padEnd(39, "0")])(
  "%j is junk",
  (text) => expect(isWellFormedApiKey(text)).toBe(false),
);

test("bytes that would favour some characters are skipped, and too few are refused", () => {
  const bytes = Uint8Array.from({ length: 60 }, (_, i) => (i % 2 === 0 ? 248 + (i % 8) : 61));
  expect(formatApiKey(bytes).slice(3, 33)).toBe("z".repeat(30));
  expect(() => formatApiKey(new Uint8Array(29))).toThrow("too few random bytes: 29");
});

test("a key is stored under its SHA-256", async () =>
  expect(await hashApiKey("rk_x")).toBe(createHash("sha256").update("rk_x").digest("hex")));

test("keys and most of a key are removed from a text for the log; a text that only begins like a key stays", () => {
  const key = formatApiKey(new Uint8Array(64).map((_, i) => i));
  expect(withoutApiKeys(`{"a":"${key}","b":"x${key.slice(0, -5)}/${key}"}`)).toBe('{"a":"rk_…","b":"xrk_…/rk_…"}');
  expect(withoutApiKeys("work_1234567890 rk_short")).toBe("work_1234567890 rk_short");
});
