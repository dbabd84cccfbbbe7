/**
 * The users of one customer who are to be forgotten, as one object: `customers/{customer}/erased-users`.
 *
 * Idea. A user who was erased is ranked for as if never seen before, and is left out of every training. Both sides need
 * an exact answer to "is it this one?", and neither may keep the id. So the list holds the first 64 bits of
 * SHA-256(salt ‖ id), rising: 8 bytes a user, found by binary search. That another user is taken for an erased one has a
 * chance of one in 10^13 with a million erased among a million, and the harm would be a list of the popular.
 *
 *     container (shared/container.ts) of kind "erased-users"
 *       metadata  {"salt": 32 hex digits, hashed as that text, "crc32": of salt, high and low}
 *       high      u32 [count]   first halves
 *       low       u32 [count]   second halves
 *
 * The list only grows. One salt for ever: hashes by another one could not be told to be the same users.
 */
import { z } from "zod";
import { assert, FormatError } from "./assert.ts";
import { arrayOf, decodeContainer, encodeContainer } from "./container.ts";
import { crc32 } from "./crc32.ts";
import { type Hash64, userHash } from "./hash.ts";
import type { UserId } from "./ids.ts";

export type ErasedUsers = {
  /** 32 hex digits; hashed as text. */
  readonly salt: string;
  readonly high: Uint32Array; // [count] rising
  readonly low: Uint32Array; // [count] rising among equal high halves
};

/** 4 MB: what an isolate can keep of one customer. */
export const ERASED_USERS_MAX = 500_000;
export const ERASED_BYTES_MAX = ERASED_USERS_MAX * 8 + 4096;
/** From the answer to an erasure on, how long an edge may still rank with what is stored of the user. */
export const ERASED_WITHIN_SECONDS = 10;

const KIND = "erased-users";
const Metadata = z.strictObject({ salt: z.string().regex(/^[0-9a-f]{32}$/), crc32: z.int().nonnegative() });

export const erasedUsersKey = (customer: string): string => `customers/${customer}/erased-users`;

/** The name under which an erased user is kept: 16 hex digits. */
export async function erasureHash(salt: string, user: UserId): Promise<string> {
  const { high, low } = await userHash(new TextEncoder().encode(salt), user);
  return hexOf(high) + hexOf(low);
}

/** A list of these hashes, each of 16 hex digits, in any order; repetitions count once. */
export function erasedUsersOf(salt: string, hashes: Iterable<string>): ErasedUsers {
  const sorted = [...new Set(hashes)].sort(); // hex digits sort as the numbers that they are
  return {
    salt,
    high: Uint32Array.from(sorted, (hash) => Number.parseInt(hash.slice(0, 8), 16)),
    low: Uint32Array.from(sorted, (hash) => Number.parseInt(hash.slice(8), 16)),
  };
}

/** Every hash of the list as 16 hex digits, rising. */
export const hashesOf = ({ high, low }: ErasedUsers): string[] =>
  Array.from(high, (half, i) => hexOf(half) + hexOf(low[i]!));

export async function isErased(list: ErasedUsers, user: UserId): Promise<boolean> {
  return list.high.length > 0 && holds(list, await userHash(new TextEncoder().encode(list.salt), user));
}

export function encodeErasedUsers({ salt, high, low }: ErasedUsers): Uint8Array {
  assert(high.length <= ERASED_USERS_MAX, `a list of erased users holds ${ERASED_USERS_MAX}, not ${high.length}`);
  const metadata = Metadata.parse({ salt, crc32: checksumOf({ salt, high, low }) });
  return encodeContainer({ kind: KIND, metadata, arrays: { high, low } });
}

/** The list in these bytes. Throws FormatError for one that lies. */
export function decodeErasedUsers(bytes: Uint8Array): ErasedUsers {
  const container = decodeContainer(bytes, KIND, Metadata);
  const high = arrayOf(container, "high", { dtypes: ["u32"] });
  const low = arrayOf(container, "low", { dtypes: ["u32"], length: high.length });
  const list = { salt: container.metadata.salt, high, low };
  if (checksumOf(list) !== container.metadata.crc32)
    throw new FormatError(`${KIND}: the checksum is not the content's`);
  for (let i = 1; i < high.length; i++)
    if (order(list, i - 1, { high: high[i]!, low: low[i]! }) >= 0)
      throw new FormatError(`${KIND}: entry ${i} is not above the one before it`);
  return list;
}

function holds(list: ErasedUsers, hash: Hash64): boolean {
  let [from, to] = [0, list.high.length]; // the entry is not before `from`, nor at or after `to`
  while (from < to) {
    const middle = (from + to) >>> 1;
    const compared = order(list, middle, hash);
    if (compared === 0) return true;
    if (compared < 0) from = middle + 1;
    else to = middle;
  }
  return false;
}

const order = ({ high, low }: ErasedUsers, i: number, hash: Hash64): number =>
  high[i]! - hash.high || low[i]! - hash.low;

function checksumOf({ salt, high, low }: ErasedUsers): number {
  const bytes = new Uint8Array(salt.length + high.byteLength + low.byteLength);
  bytes.set(new TextEncoder().encode(salt));
  bytes.set(new Uint8Array(high.buffer, high.byteOffset, high.byteLength), salt.length);
  bytes.set(new Uint8Array(low.buffer, low.byteOffset, low.byteLength), salt.length + high.byteLength);
  return crc32(bytes);
}

const hexOf = (half: number) => half.toString(16).padStart(8, "0");
