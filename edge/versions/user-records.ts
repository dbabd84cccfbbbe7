/** Finds a user's record: in a page in memory, or by one range read of the data centre's cache or R2. */
import { userHash } from "../../shared/hash.ts";
import type { UserId } from "../../shared/ids.ts";
import { blobKey } from "../../shared/manifest.ts";
import type { UserRecord } from "../../shared/snapshot.ts";
import { openUserPage, recordInPage, type UserPage } from "../../shared/user-records.ts";
import type { ReadAccess } from "../reading/artifact-reader.ts";
import { findOrRead, READ_LOCK_MS } from "../reading/waiting.ts";
import type { LoadedVersion, UserPlaces } from "./load-version.ts";
import { type PageMemory, pageKey } from "./page-memory.ts";

export type RecordAccess = ReadAccess & {
  readonly pages: PageMemory;
  /** Whether the customer has erased this user, who then has no record. Throws ReadError, FormatError. */
  readonly isErased: (user: UserId) => Promise<boolean>;
  /** Called before a page is read, which a wrong request must not cost. May throw. */
  readonly beforeRead: () => void;
  /** The page that was read while the version was loaded, if any. */
  readonly ahead?: Promise<PageAhead | undefined> | undefined;
};

/** A page and its key in the memory of pages. */
export type PageAhead = { readonly key: string; readonly page: UserPage };

/**
 * Reads the user's page while the version is loaded, so that the first call makes one trip less. Undefined if the user has none, or if it
 * cannot be read: then it is read again. It shows nothing of an erased user, since `userRecordOf` decides what is used.
 */
export async function readPageAhead(
  users: UserPlaces,
  user: UserId,
  { reader }: Pick<ReadAccess, "reader">,
): Promise<PageAhead | undefined> {
  try {
    const found = await pageOf(users, user);
    return found && { key: found.key, page: await reader.range(found.objectKey, found.place, openUserPage) };
  } catch {
    return undefined; // the directory may be wrong too: the version is not checked yet
  }
}

/** The only page that can hold the user, and the user's hash. */
async function pageOf({ manifest, directory, target }: UserPlaces, user: UserId) {
  const hash = await userHash(directory!.salt, user);
  const place = directory!.find(hash);
  if (place === undefined) return undefined;
  const objectKey = blobKey(target.customer, target.modelName, manifest.users!.pages[place.file]!.digest);
  return { hash, place, objectKey, key: pageKey(objectKey, place.offset) };
}

/** Undefined for a user who was erased or not in the training data. Throws ReadError, FormatError, and what `beforeRead` throws. */
export async function userRecordOf(
  loaded: LoadedVersion,
  user: UserId,
  access: RecordAccess,
): Promise<UserRecord | undefined> {
  if (!loaded.directory || (await access.isErased(user))) return undefined;
  const checkedMs = access.nowMs();
  const record = await readRecord(loaded, user, access);
  // The list of erased users may have become too old while the record was read.
  const isLater = access.nowMs() > checkedMs;
  return isLater && (await access.isErased(user)) ? undefined : record;
}

async function readRecord(loaded: LoadedVersion, user: UserId, access: RecordAccess): Promise<UserRecord | undefined> {
  const { reader, pages, nowMs, beforeRead } = access;
  const found = await pageOf(loaded, user);
  if (found === undefined) return undefined;
  const { hash, place, objectKey, key } = found;
  const itemCount = loaded.manifest.item_count;
  const find = () => {
    const page = pages.get(key);
    return page && { value: recordInPage(page, hash, itemCount) };
  };
  const read = async () => {
    try {
      beforeRead();
      const ahead = await access.ahead;
      const page = ahead?.key === key ? ahead.page : await reader.range(objectKey, place, openUserPage);
      const record = recordInPage(page, hash, itemCount); // taken first, since `put` may evict the page at once
      pages.put(key, page, nowMs());
      return record;
    } finally {
      pages.unlock(key);
    }
  };
  const tryLock = (ms: number) => pages.tryLock(key, place, ms);
  return findOrRead({ find, tryLock, read, waitMs: READ_LOCK_MS }, access);
}
