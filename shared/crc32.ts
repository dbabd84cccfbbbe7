const SLICES = 8;

/**
 * [slice * 256 + byte] the CRC-32 of a byte followed by `slice` zero bytes, for the reflected polynomial of IEEE 802.3. With it, eight
 * bytes are processed at a time: slicing-by-8 of Kounavis and Berry, "Novel table lookup-based algorithms for high-performance CRC
 * generation", IEEE Transactions on Computers 57 (2008).
 */
const TABLE = new Uint32Array(SLICES * 256);
for (let byte = 0; byte < 256; byte++) {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  TABLE[byte] = crc;
}
for (let at = 256; at < TABLE.length; at++) TABLE[at] = (TABLE[at - 256]! >>> 8) ^ TABLE[TABLE[at - 256]! & 0xff]!;

/** CRC-32 as in IEEE 802.3 and zip, unsigned. It detects every burst of up to 32 flipped bits. */
export function crc32(bytes: Uint8Array): number {
  const table = TABLE;
  let crc = 0xffffffff;
  let i = 0;
  for (; i + SLICES <= bytes.length; i += SLICES) {
    const low = crc ^ (bytes[i]! | (bytes[i + 1]! << 8) | (bytes[i + 2]! << 16) | (bytes[i + 3]! << 24));
    crc =
      table[1792 + (low & 0xff)]! ^
      table[1536 + ((low >>> 8) & 0xff)]! ^
      table[1280 + ((low >>> 16) & 0xff)]! ^
      table[1024 + (low >>> 24)]! ^
      table[768 + bytes[i + 4]!]! ^
      table[512 + bytes[i + 5]!]! ^
      table[256 + bytes[i + 6]!]! ^
      table[bytes[i + 7]!]!;
  }
  for (; i < bytes.length; i++) crc = (crc >>> 8) ^ table[(crc ^ bytes[i]!) & 0xff]!;
  return (crc ^ 0xffffffff) >>> 0;
}
