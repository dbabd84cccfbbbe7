import fc from "fast-check";
import { expect, test } from "vitest";
import { FormatError } from "../../shared/assert.ts";
import {
  decodeErasedUsers,
  ERASED_BYTES_MAX,
  ERASED_USERS_MAX,
  encodeErasedUsers,
  erasedUsersKey,
  erasedUsersOf,
  erasureHash,
  hashesOf,
  isErased,
} from "../../shared/erased-users.ts";
import type { UserId } from "../../shared/ids.ts";
import { checkKey } from "../../trainer/store/object-store.ts";
import { anyCharacter } from "../fixtures/any-text.ts";

const SALT = "00112233445566778899aabbccddeeff";
const user = (id: string) => id as UserId;
const listOf = async (ids: readonly string[], salt = SALT) =>
  erasedUsersOf(salt, await Promise.all(ids.map((id) => erasureHash(salt, user(id)))));

test("an encoded and decoded list holds exactly its users", async () => {
  const ids = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 20, unit: anyCharacter }), { maxLength: 15 });
  await fc.assert(
    fc.asyncProperty(ids, ids, async (erased, others) => {
      const list = decodeErasedUsers(encodeErasedUsers(await listOf(erased)));
      for (const id of erased) expect(await isErased(list, user(id))).toBe(true);
      for (const id of others) expect(await isErased(list, user(id))).toBe(erased.includes(id));
    }),
  );
});

test("the hash is the first 64 bits of SHA-256 over the salt's text and the id", async () =>
  // printf '%s' "00112233445566778899aabbccddeeffann" | sha256sum
  expect(await erasureHash(SALT, user("ann"))).toBe("8ff4e3fb14a20d29"));

test("finds entries that differ in one half only", () => {
  const hashes = ["00000001ffffffff", "0000000100000000", "ffffffff00000000", "ffffffffffffffff", "0000000000000000"];
  const list = decodeErasedUsers(encodeErasedUsers(erasedUsersOf(SALT, [...hashes, hashes[0]!])));
  expect(hashesOf(list)).toEqual([...hashes].sort());
});

test("the bytes contain no id and depend on the salt", async () => {
  const [one, other] = await Promise.all([listOf(["ann"]), listOf(["ann"], SALT.replaceAll("0", "1"))]);
  expect(new TextDecoder("latin1").decode(encodeErasedUsers(one))).not.toContain("ann");
  expect(hashesOf(one)).not.toEqual(hashesOf(other));
});

test("any flipped bit is detected", async () => {
  const bytes = encodeErasedUsers(await listOf(["ann", "bob", "cyd"]));
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const flipped = bytes.slice();
    flipped[bit >> 3]! ^= 1 << (bit & 7);
    expect(() => decodeErasedUsers(flipped), `bit ${bit}`).toThrow(FormatError);
  }
  for (let end = 0; end < bytes.length; end++)
    expect(() => decodeErasedUsers(bytes.subarray(0, end))).toThrow(FormatError);
});

test("a list out of order is refused even if its checksum is right", () => {
  const { high, low } = erasedUsersOf(SALT, ["0000000000000001", "0000000000000002"]);
  for (const wrong of [low.slice().reverse(), low.slice().fill(1)])
    expect(() => decodeErasedUsers(encodeErasedUsers({ salt: SALT, high, low: wrong }))).toThrow("not above the one");
});

test("a full list fits the size that an edge reads, a longer one is a bug", () => {
  const halves = (count: number) => Uint32Array.from({ length: count }, (_, i) => i);
  const full = { salt: SALT, high: halves(ERASED_USERS_MAX), low: halves(ERASED_USERS_MAX) };
  expect(encodeErasedUsers(full).length).toBeLessThanOrEqual(ERASED_BYTES_MAX);
  const more = { salt: SALT, high: halves(ERASED_USERS_MAX + 1), low: halves(ERASED_USERS_MAX + 1) };
  expect(() => encodeErasedUsers(more)).toThrow("Assertion failed");
});

test.each(["", `${SALT}00`, `zz${SALT}`, SALT.toUpperCase()])("%j is not a salt", (salt) =>
  expect(() => encodeErasedUsers(erasedUsersOf(salt, []))).toThrow("salt"),
);

test("its key is valid in every object store", () => checkKey(erasedUsersKey("acme-1")));
