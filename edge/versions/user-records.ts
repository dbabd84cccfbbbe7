/** Finds a user's record: in a page in memory, or by one range read of the data centre's cache or R2. */
import { userHash } from "../../shared/hash.ts";
import type { UserId } from "../../shared/ids.ts";
import { blobKey } from "../../shared/manifest.ts";
import type { UserRecord } from "../../shared/snapshot.ts";
import { openUserPage, recordInPage } from "../../shared/user-records.ts";
import type { ReadAccess } from "../reading/artifact-reader.ts";
import { findOrRead, READ_LOCK_MS } from "../reading/waiting.ts";
import type { LoadedVersion } from "./load-version.ts";
import { type PageMemory, pageKey } from "./page-memory.ts";

export type RecordAccess = ReadAccess & {
  readonly pages: PageMemory;
  /** Whether the customer has erased this user, who then has no record. Throws ReadError, FormatError. */
  readonly isErased: (user: UserId) => Promise<boolean>;
  /** Called before a page is read, which a wrong request must not cost. May throw. */
  readonly beforeRead: () => void;
};

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

async function readRecord(
  { manifest, directory, target }: LoadedVersion,
  user: UserId,
  access: RecordAccess,
): Promise<UserRecord | undefined> {
  const { reader, pages, nowMs, beforeRead } = access;
  const hash = await userHash(directory!.salt, user);
  const place = directory!.find(hash);
  if (place === undefined) return undefined;
  const objectKey = blobKey(target.customer, target.modelName, manifest.users!.pages[place.file]!.digest);
  const key = pageKey(objectKey, place.offset);
  const itemCount = manifest.item_count;
  const find = () => {
    const page = pages.get(key);
    return page && { value: recordInPage(page, hash, itemCount) };
  };
  const read = async () => {
    try {
      beforeRead();
      const page = await reader.range(objectKey, place, openUserPage);
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
