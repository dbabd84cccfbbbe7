/**
 * The list of a customer's erased users, as one object: `customers/{customer}/erased-users`.
 *
 * Idea. An erased user is ranked like an unknown user and left out of every training. So edge and trainer must recognise the user, but
 * neither may keep the id. The list holds the first 64 bits of SHA-256(salt ‖ id) in rising order: 8 bytes a user, found by binary
 * search. With a million erased users, the probability that a given other user is mistaken for an erased one is below 10^-13; that user
 * would get the popular items.
 *
 *     container (shared/container.ts) of kind "erased-users"
 *       metadata  {"salt": 32 hex digits, hashed as that text, "crc32": of salt, high and low}
 *       high      u32 [count]   first halves
 *       low       u32 [count]   second halves
 *
 * Only an operator shortens the list. Its salt never changes, since hashes with another salt could not be compared. User records are
 * hashed with the same salt, so that those of erased users can be found without their ids.
 */

import * as z from "zod";
import { assert, FormatError } from "./assert.ts";
import { countBelowIn } from "./binary-search.ts";
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

/** These take 4 MB, which an isolate can keep for one customer. */
export const ERASED_USERS_MAX = 500_000;
export const ERASED_BYTES_MAX = ERASED_USERS_MAX * 8 + 4096;
/** After an erasure is confirmed, an edge may use the user's stored record for at most this time. */
export const ERASED_WITHIN_SECONDS = 10;

const KIND = "erased-users";
const Metadata = z.object({ salt: z.string().regex(/^[0-9a-f]{32}$/), crc32: z.int().nonnegative() });

export const erasedUsersKey = (customer: string): string => `customers/${customer}/erased-users`;

/** The salted hash that represents an erased user: 16 hex digits. */
export async function erasureHash(salt: string, user: UserId): Promise<string> {
  const { high, low } = await userHash(new TextEncoder().encode(salt), user);
  return hexOf(high) + hexOf(low);
}

/** The list of these hashes of 16 hex digits each, given in any order. Repetitions count once. */
export function erasedUsersOf(salt: string, hashes: Iterable<string>): ErasedUsers {
  const sorted = [...new Set(hashes)].sort(); // hex digits of equal length sort like the numbers
  return {
    salt,
    high: Uint32Array.from(sorted, (hash) => Number.parseInt(hash.slice(0, 8), 16)),
    low: Uint32Array.from(sorted, (hash) => Number.parseInt(hash.slice(8), 16)),
  };
}

/** The hashes as 16 hex digits each, rising. */
export const hashesOf = ({ high, low }: ErasedUsers): string[] =>
  Array.from(high, (half, i) => hexOf(half) + hexOf(low[i]!));

export async function isErased(list: ErasedUsers, user: UserId): Promise<boolean> {
  return list.high.length > 0 && hasHash(list, await userHash(new TextEncoder().encode(list.salt), user));
}

export function encodeErasedUsers({ salt, high, low }: ErasedUsers): Uint8Array {
  assert(high.length <= ERASED_USERS_MAX, `a list of erased users holds ${ERASED_USERS_MAX}, not ${high.length}`);
  const metadata = Metadata.parse({ salt, crc32: checksumOf({ salt, high, low }) });
  return encodeContainer({ kind: KIND, metadata, arrays: { high, low } });
}

/** Decodes a list. Throws FormatError if it is damaged. */
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

/** Whether the list has a user of this salted hash. */
export function hasHash(list: ErasedUsers, hash: Hash64): boolean {
  const at = countBelowIn(list.high.length, (i) => order(list, i, hash) < 0);
  return at < list.high.length && order(list, at, hash) === 0;
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
