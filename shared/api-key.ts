/**
 * API keys: `rk_`, 30 random base62 characters (178 bits), 6 base62 characters of the CRC-32 (IEEE 802.3) of those 30.
 * The checksum lets junk be refused before any I/O; it protects nothing.
 */
import { crc32 } from "./crc32.ts";
import { hexOf } from "./hex.ts";

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const BODY_LENGTH = 30;
const CHECK_LENGTH = 6; // 62^6 > 2^32
const encoder = new TextEncoder();
const PATTERN = /^rk_[0-9A-Za-z]{36}$/;
const IN_TEXT = /rk_[0-9A-Za-z]{20,}/g; // also a key that lacks a piece

/** A key from random bytes; at least 64 of them, since bytes ≥ 248 are skipped to keep the characters uniform. */
export function formatApiKey(random: Uint8Array): string {
  const body = Array.from(random)
    .filter((byte) => byte < 248)
    .slice(0, BODY_LENGTH)
    .map((byte) => ALPHABET[byte % 62])
    .join("");
  if (body.length < BODY_LENGTH) throw new Error(`too few random bytes: ${random.length}`);
  return `rk_${body}${checkOf(body)}`;
}

/** Whether the text can be a key at all: its form and its checksum. */
export function isWellFormedApiKey(text: string): boolean {
  return PATTERN.test(text) && checkOf(text.slice(3, 3 + BODY_LENGTH)) === text.slice(3 + BODY_LENGTH);
}

/** The text for a log, where no key may stand, wherever a caller has put one. Cut a text after this, not before. */
export function withoutApiKeys(text: string): string {
  return text.replace(IN_TEXT, "rk_…");
}

/** SHA-256 of the key, hex: the name under which it is stored. */
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
