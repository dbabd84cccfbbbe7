import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { hexOf, murmur3OfInteger, userHash } from "../../shared/hash.ts";

/** MurmurHash3_x86_32 of any bytes, as published. The service only hashes integers. */
function murmur3(bytes: Uint8Array, seed: number): number {
  let hash = seed;
  const blocksEnd = bytes.length & ~3;
  for (let i = 0; i < blocksEnd; i += 4) {
    const block = bytes[i]! | (bytes[i + 1]! << 8) | (bytes[i + 2]! << 16) | (bytes[i + 3]! << 24);
    hash = rotate(hash ^ scrambled(block), 13);
    hash = (Math.imul(hash, 5) + 0xe6546b64) | 0;
  }
  let tail = 0; // the last one to three bytes
  for (let i = bytes.length - 1; i >= blocksEnd; i--) tail = (tail << 8) | bytes[i]!;
  return finished(hash ^ scrambled(tail) ^ bytes.length);
}

const rotate = (value: number, bits: number) => (value << bits) | (value >>> (32 - bits));

const scrambled = (block: number) => Math.imul(rotate(Math.imul(block, 0xcc9e2d51), 15), 0x1b873593);

function finished(hash: number): number {
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

const bytes = (text: string) => new TextEncoder().encode(text);

test.each([
  ["", 0, 0],
  ["", 1, 0x514e28b7],
  ["hello", 0, 0x248bfa47],
  ["The quick brown fox jumps over the lazy dog", 0x9747b28c, 0x2fa826cd],
])("MurmurHash3 of %j with seed %i has its published value", (text, seed, expected) =>
  expect(murmur3(bytes(text), seed)).toBe(expected),
);

test("the verification value of SMHasher, which covers every length to 255 and every seed to 256", () => {
  const key = Uint8Array.from({ length: 256 }, (_, i) => i);
  const hashes = new DataView(new ArrayBuffer(1024));
  for (let i = 0; i < 256; i++) hashes.setUint32(4 * i, murmur3(key.subarray(0, i), 256 - i), true);
  expect(murmur3(new Uint8Array(hashes.buffer), 0)).toBe(0xb0f57ee3);
});

test("an integer has the hash of its four bytes", () =>
  fc.assert(
    fc.property(fc.nat(0xffffffff), fc.nat(0xffffffff), (value, seed) => {
      const four = new Uint8Array(new Uint32Array([value]).buffer);
      expect(murmur3OfInteger(value, seed)).toBe(murmur3(four, seed));
    }),
  ));

test("a user's hash is the first 64 bits of SHA-256 over salt and id", async () => {
  const salt = Uint8Array.of(1, 2, 3);
  for (const id of ["", "ann", "ünï", "7"]) {
    const digest = createHash("sha256").update(salt).update(id).digest();
    expect(await userHash(salt, id)).toEqual({ high: digest.readUInt32BE(0), low: digest.readUInt32BE(4) });
  }
});

test("hex is written as by Node.js", () =>
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      expect(hexOf(bytes)).toBe(Buffer.from(bytes).toString("hex"));
    }),
  ));
