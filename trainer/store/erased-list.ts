import { FormatError } from "../../shared/assert.ts";
import {
  decodeErasedUsers,
  ERASED_USERS_MAX,
  type ErasedUsers,
  encodeErasedUsers,
  erasedUsersKey,
  erasedUsersOf,
  hashesOf,
} from "../../shared/erased-users.ts";
import { Problem } from "../../shared/problem.ts";
import { changeObject, type ObjectStore, StoreError } from "./object-store.ts";

/** The erased users of a customer; undefined when there are none. Throws StoreError when the list cannot be read. */
export async function readErasedUsers(store: ObjectStore, customer: string): Promise<ErasedUsers | undefined> {
  const key = erasedUsersKey(customer);
  const found = await store.get(key);
  return found && parseList(key, found.bytes);
}

/**
 * Replaces the users of the customer's list, if there is one.
 *
 * @param hashes Called after the list was read, and again if another writer was faster. So it misses nobody who was added before.
 */
export async function replaceErasedUsers(
  store: ObjectStore,
  customer: string,
  hashes: () => Promise<readonly string[]>,
): Promise<void> {
  const key = erasedUsersKey(customer);
  await changeObject(store, key, async (found) => {
    if (found === undefined) return undefined;
    const { salt } = parseList(key, found.bytes);
    return encodeErasedUsers(erasedUsersOf(salt, await hashes()));
  });
}

/**
 * Adds users to the customer's list. A list that does not exist is made with the given salt.
 *
 * @param hashes Hashes with that salt (shared/erased-users.ts).
 * @throws StoreError when the list has another salt, because these hashes would then match nobody.
 * @throws Problem `overloaded` when the list is full.
 */
export async function addErasedUsers(
  store: ObjectStore,
  customer: string,
  { salt, hashes }: { readonly salt: string; readonly hashes: readonly string[] },
): Promise<void> {
  const key = erasedUsersKey(customer);
  await changeObject(store, key, (found) => {
    const known = found && parseList(key, found.bytes);
    if (known !== undefined && known.salt !== salt)
      throw new StoreError(
        `${key} was made by a trainer with another database. Run one database for one bucket, or restore its backup.`,
      );
    const before = known === undefined ? [] : hashesOf(known);
    const list = erasedUsersOf(salt, [...before, ...hashes]);
    if (known !== undefined && list.high.length === before.length) return undefined;
    if (list.high.length > ERASED_USERS_MAX) throw listIsFull();
    return encodeErasedUsers(list);
  });
}

export const listIsFull = () =>
  new Problem(
    "overloaded",
    `The list of erased users is full: it holds ${ERASED_USERS_MAX}. Remove these users from the data, and ask the operator.`,
    { retryAfterSeconds: 3600 },
  );

function parseList(key: string, bytes: Uint8Array): ErasedUsers {
  try {
    return decodeErasedUsers(bytes);
  } catch (cause) {
    if (!(cause instanceof FormatError)) throw cause;
    throw new StoreError(`${key} is damaged (${cause.message}); restore the object. Nobody is erased meanwhile.`, {
      cause,
    });
  }
}
