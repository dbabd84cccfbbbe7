/** Users' records: in memory, or by one range read of R2. */
import { type Hash64, userHash } from "../../shared/hash.ts";
import type { UserId } from "../../shared/ids.ts";
import { blobKey } from "../../shared/manifest.ts";
import type { UserRecord } from "../../shared/snapshot.ts";
import { openUserPage, type PagePlace, recordInPage } from "../../shared/user-records.ts";
import type { ArtifactReader } from "../reading/artifact-reader.ts";
import { CLAIM_MS, lookOrRead } from "../reading/claims.ts";
import { sleep, within } from "../reading/deadline.ts";
import type { RequestAccess } from "../reading/request-access.ts";
import type { LoadedVersion } from "./load-version.ts";
import { ENTRY_BYTES, type PageMemory, pageKey } from "./page-memory.ts";

export type PageContext = {
  readonly reader: ArtifactReader;
  readonly pages: PageMemory;
  readonly access: RequestAccess;
};

type PageOfUser = {
  readonly hash: Hash64;
  readonly place: PagePlace;
  readonly objectKey: string;
  /** Of the page in memory. */
  readonly key: string;
};

/** Undefined when no page can hold the user. */
async function pageOf({ manifest, directory, target }: LoadedVersion, user: UserId): Promise<PageOfUser | undefined> {
  if (!directory || !manifest.users) return undefined;
  const hash = await userHash(directory.salt, user);
  const place = directory.find(hash);
  if (place === undefined) return undefined;
  const objectKey = blobKey(target.customer, target.modelName, manifest.users.pages[place.file]!.digest);
  return { hash, place, objectKey, key: pageKey(objectKey, place.offset) };
}

/**
 * Undefined for a user whom training has not seen. Callers who miss the same page at once look again until the first of
 * them has read it: never awaiting its promise. Throws ReadError, FormatError.
 */
export async function readUserRecord(
  loaded: LoadedVersion,
  user: UserId,
  context: PageContext,
): Promise<UserRecord | undefined> {
  const page = await pageOf(loaded, user);
  if (!page) return undefined;
  const { pages, access } = context;
  const itemCount = loaded.manifest.item_count;
  const look = () => {
    const known = pages.get(page.key);
    return known && { value: recordInPage(known, page.hash, itemCount) };
  };
  const claim = (nowMs: number) => pages.claim(page.key, page.place, nowMs);
  const read = () => readPage(page, itemCount, context);
  return lookOrRead({ look, claim, read, waitMs: CLAIM_MS }, access);
}

/** Gives the user's record at once, since the page may be let go as soon as it is kept. */
async function readPage({ hash, place, objectKey, key }: PageOfUser, itemCount: number, context: PageContext) {
  const { reader, pages, access } = context;
  try {
    const page = openUserPage(await reader.range(objectKey, place));
    const record = recordInPage(page, hash, itemCount);
    pages.keep(key, page, access.nowMs());
    return record;
  } finally {
    pages.release(key);
  }
}

/** When a version is let go. */
export function forgetPages({ manifest, target }: LoadedVersion, pages: PageMemory): void {
  const files = manifest.users?.pages ?? [];
  pages.forget(new Set(files.map(({ digest }) => blobKey(target.customer, target.modelName, digest))));
}

const AHEAD_MS_MAX = 1000;
const AHEAD_USERS_MAX = 300;
/** Between two users, so that the calls of the older version hardly notice. */
const AHEAD_PAUSE_MS = 2;
/** Of what pages may take: the rest is the older version's, which serves meanwhile. */
const AHEAD_SHARE = 0.5;

/**
 * Reads the pages of these users, one after another, before the version serves: else all calls of its first moments would
 * wait for R2. As many as there is room and time for; a failure ends it, and is of no consequence.
 */
export async function readAhead(loaded: LoadedVersion, users: readonly UserId[], context: PageContext): Promise<void> {
  const { pages, access } = context;
  const untilMs = access.nowMs() + AHEAD_MS_MAX;
  let bytesLeft = AHEAD_SHARE * pages.bytesMost(access.nowMs());
  for (const user of users.slice(0, AHEAD_USERS_MAX)) {
    await sleep(AHEAD_PAUSE_MS);
    if (access.nowMs() >= untilMs) return;
    const page = await pageOf(loaded, user);
    if (!page || pages.get(page.key)) continue;
    bytesLeft -= page.place.length + ENTRY_BYTES;
    if (bytesLeft < 0) return;
    try {
      const reading = readPage(page, loaded.manifest.item_count, context);
      await within(untilMs - access.nowMs(), `reading ${page.key} ahead`, reading);
    } catch {
      return;
    }
  }
}
