/**
 * API keys: `rk_`, 30 random base62 characters (178 bits), 6 base62 characters of the CRC-32 (IEEE 802.3) of those 30.
 * The checksum allows mistyped keys to be refused before any I/O. It adds no security.
 */
import { crc32 } from "./crc32.ts";
import { hexOf } from "./hash.ts";

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const BODY_LENGTH = 30;
const CHECK_LENGTH = 6; // 62^6 > 2^32
const encoder = new TextEncoder();
const PATTERN = /^rk_[0-9A-Za-z]{36}$/;
const IN_TEXT = /rk_[0-9A-Za-z]{20,}/g; // also matches a truncated key

/** Makes a key from at least 64 random bytes. Bytes from 248 on are skipped, so that all characters are equally likely. */
export function formatApiKey(random: Uint8Array): string {
  const body = Array.from(random)
    .filter((byte) => byte < 248)
    .slice(0, BODY_LENGTH)
    .map((byte) => ALPHABET[byte % 62])
    .join("");
  if (body.length < BODY_LENGTH) throw new Error(`too few random bytes: ${random.length}`);
  return `rk_${body}${checkOf(body)}`;
}

/** Whether the text has the form and the checksum of a key. */
export function isWellFormedApiKey(text: string): boolean {
  return PATTERN.test(text) && checkOf(text.slice(3, 3 + BODY_LENGTH)) === text.slice(3 + BODY_LENGTH);
}

/** Hides API keys in a text for the log, wherever a caller has put them. Shorten a text after this call, not before. */
export function withoutApiKeys(text: string): string {
  return text.replace(IN_TEXT, "rk_…");
}

/** SHA-256 of the key in hex, under which its record is stored. */
export async function hashApiKey(key: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", encoder.encode(key));
  return hexOf(new Uint8Array(digest));
}

function checkOf(body: string): string {
  let rest = crc32(encoder.encode(body));
  let text = "";
  for (let i = 0; i < CHECK_LENGTH; i++) {
    text = ALPHABET[rest % 62]! + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}
