import { FormatError } from "../shared/assert.ts";
import { userHash } from "../shared/hash.ts";
import type { UserId } from "../shared/ids.ts";
import { blobKey } from "../shared/manifest.ts";
import { matcherOf } from "../shared/matcher.ts";
import { Problem } from "../shared/problem.ts";
import type { Snapshot, UserRecord } from "../shared/snapshot.ts";
import { openUserPage, recordInPage } from "../shared/user-records.ts";
import { type ArtifactReader, ReadError } from "./artifact-reader.ts";
import { sleep } from "./deadline.ts";
import type { LoadedVersion } from "./load-version.ts";
import { CLAIM_MS, type PageMemory } from "./page-memory.ts";
import type { RequestAccess } from "./refreshed-cache.ts";

/** The method whose lists are the same for everybody but for what was seen. */
const POPULARITY = "popularity";
const LOOK_AGAIN_MS = 3;

export type RecordPolicy = {
  readonly reader: ArtifactReader;
  readonly pages: PageMemory;
  readonly access: RequestAccess;
  /** Whether the customer has had this user erased: then there is no record. Throws ReadError, FormatError. */
  readonly isErased: (user: UserId) => Promise<boolean>;
  /** Rank without history and seen filter when a record cannot be read. */
  readonly serveUnfiltered: boolean;
  /** Told when that happened. */
  readonly onUnfiltered: (error: unknown) => void;
};

/** A loaded version as one request ranks with it: the only I/O is one range read for the user's record, where its page is not in memory. */
export function snapshotOf(loaded: LoadedVersion, policy: RecordPolicy): Snapshot {
  const { manifest, catalog, attributes, userValues, scorer, target } = loaded;
  return {
    version: target.live.version,
    itemCount: manifest.item_count,
    itemIdType: manifest.item_id_type,
    historyMax: manifest.model.history_max,
    personalizes: manifest.model.method !== POPULARITY,
    indexOf: catalog.indexOf,
    idAt: catalog.idAt,
    score: scorer.score,
    scoreByValues: userValues?.score,
    matcher: (query) => matcherOf(query, { table: attributes, catalog, itemIdColumn: manifest.item_id_column }),
    async userRecord(user) {
      try {
        if (!loaded.directory || (await policy.isErased(user))) return undefined;
        return await readUserRecord(loaded, user, policy);
      } catch (error) {
        if (!(error instanceof ReadError || error instanceof FormatError)) throw error;
        policy.onUnfiltered(error);
        if (policy.serveUnfiltered) return undefined;
        const detail = "What this user has seen cannot be read right now, so nothing is ranked. Try again.";
        throw new Problem("user_record_unavailable", detail, { cause: error, retryAfterSeconds: 1 });
      }
    },
  };
}

/** Callers who miss the same page at once look again until the first of them has read it: never awaiting its promise. */
async function readUserRecord(
  { manifest, directory, target }: LoadedVersion,
  user: UserId,
  { reader, pages, access: { nowMs, waitUntil } }: RecordPolicy,
): Promise<UserRecord | undefined> {
  if (!directory || !manifest.users) return undefined;
  const hash = await userHash(directory.salt, user);
  const place = directory.find(hash);
  if (place === undefined) return undefined;
  const file = manifest.users.pages[place.file]!;
  const key = blobKey(target.customer, target.modelName, file.digest);
  const pageKey = `${key}@${place.offset}`;
  for (const untilMs = nowMs() + CLAIM_MS; ; await sleep(LOOK_AGAIN_MS)) {
    const known = pages.get(pageKey);
    if (known) return recordInPage(known, hash, manifest.item_count);
    if (pages.claim(pageKey, place, nowMs()) || nowMs() >= untilMs) break;
  }
  const read = async () => {
    try {
      const page = openUserPage(await reader.range(key, place));
      const record = recordInPage(page, hash, manifest.item_count);
      pages.keep(pageKey, page, nowMs());
      return record;
    } finally {
      pages.release(pageKey);
    }
  };
  const reading = read();
  waitUntil(reading.catch(() => undefined)); // others wait for it, though this caller may hang up
  return reading;
}
