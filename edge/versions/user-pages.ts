/** User records: from a page in memory, or by one range read of the data centre's cache or R2. */
import { userHash } from "../../shared/hash.ts";
import type { UserId } from "../../shared/ids.ts";
import { blobKey } from "../../shared/manifest.ts";
import type { UserRecord } from "../../shared/snapshot.ts";
import { openUserPage, recordInPage } from "../../shared/user-records.ts";
import type { ArtifactReader } from "../reading/artifact-reader.ts";
import type { RequestAccess } from "../reading/request-access.ts";
import { findOrRead, READ_LOCK_MS } from "../reading/single-flight.ts";
import type { LoadedVersion } from "./load-version.ts";
import { type PageMemory, pageKey } from "./page-memory.ts";

export type PageContext = {
  readonly reader: ArtifactReader;
  readonly pages: PageMemory;
  readonly access: RequestAccess;
};

/** Undefined for a user who was not in the training data. Throws ReadError, FormatError. */
export async function readUserRecord(
  { manifest, directory, target }: LoadedVersion,
  user: UserId,
  { reader, pages, access }: PageContext,
): Promise<UserRecord | undefined> {
  if (!directory || !manifest.users) return undefined;
  const hash = await userHash(directory.salt, user);
  const place = directory.find(hash);
  if (place === undefined) return undefined;
  const objectKey = blobKey(target.customer, target.modelName, manifest.users.pages[place.file]!.digest);
  const key = pageKey(objectKey, place.offset);
  const itemCount = manifest.item_count;
  const find = () => {
    const page = pages.get(key);
    return page && { value: recordInPage(page, hash, itemCount) };
  };
  const tryLock = (nowMs: number) => pages.tryLock(key, place, nowMs);
  const read = async () => {
    try {
      const page = await reader.range(objectKey, place, openUserPage);
      const record = recordInPage(page, hash, itemCount); // taken first, since `put` may evict the page at once
      pages.put(key, page, access.nowMs());
      return record;
    } finally {
      pages.unlock(key);
    }
  };
  return findOrRead({ find, tryLock, read, waitMs: READ_LOCK_MS }, access);
}

/** Evicts the pages of a version that is evicted itself. */
export function evictPages({ manifest, target }: LoadedVersion, pages: PageMemory): void {
  const files = manifest.users?.pages ?? [];
  pages.evictObjects(new Set(files.map(({ digest }) => blobKey(target.customer, target.modelName, digest))));
}
