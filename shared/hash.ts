/** A 64-bit hash as two unsigned 32-bit halves. */
export type Hash64 = { readonly high: number; readonly low: number };

const encoder = new TextEncoder();

/** The form in which user ids are stored: the first 64 bits of SHA-256(salt ‖ UTF-8 of the id), big-endian. */
export async function userHash(salt: Uint8Array, userId: string): Promise<Hash64> {
  const id = encoder.encode(userId);
  const text = new Uint8Array(salt.length + id.length);
  text.set(salt);
  text.set(id, salt.length);
  const digest = new DataView(await crypto.subtle.digest("SHA-256", text));
  return { high: digest.getUint32(0), low: digest.getUint32(4) };
}

/**
 * MurmurHash3_x86_32 (Austin Appleby, 2011, public domain) of the four little-endian bytes of an unsigned integer; unsigned. It is fast
 * and evenly distributed, but collisions can be constructed.
 */
export const murmur3OfInteger = (value: number, seed: number): number =>
  finished(((Math.imul(rotate(seed ^ scrambled(value), 13), 5) + 0xe6546b64) | 0) ^ 4);

const rotate = (value: number, bits: number) => (value << bits) | (value >>> (32 - bits));

const scrambled = (block: number) => Math.imul(rotate(Math.imul(block, 0xcc9e2d51), 15), 0x1b873593);

function finished(hash: number): number {
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** Two lower-case hex digits for each byte. */
export function hexOf(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += HEX[byte]!;
  return text;
}
