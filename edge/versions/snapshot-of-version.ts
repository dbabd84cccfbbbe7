import { FormatError } from "../../shared/assert.ts";
import { compileFilter } from "../../shared/filter/compile-filter.ts";
import type { UserId } from "../../shared/ids.ts";
import { POPULARITY } from "../../shared/manifest.ts";
import { Problem } from "../../shared/problem.ts";
import type { Snapshot } from "../../shared/snapshot.ts";
import { ReadError } from "../reading/artifact-reader.ts";
import type { LoadedVersion } from "./load-version.ts";
import { type PageContext, readUserRecord } from "./user-pages.ts";

export type RecordPolicy = PageContext & {
  /** Whether the customer has erased this user, who then has no record. Throws ReadError, FormatError. */
  readonly isErased: (user: UserId) => Promise<boolean>;
  /** Rank without history and seen filter when a record cannot be read. */
  readonly serveUnfiltered: boolean;
  /** Called with the error when that happens. */
  readonly onUnfiltered: (error: unknown) => void;
};

/** A loaded version for one request. Its only I/O is one range read for the user's record, if the page is not in memory. */
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
    compileFilter: (filter, onTable) =>
      compileFilter(filter, { table: attributes, catalog, itemIdColumn: manifest.item_id_column, onTable }),
    async userRecord(user) {
      try {
        if (!loaded.directory || (await policy.isErased(user))) return undefined;
        const checkedMs = policy.access.nowMs();
        const record = await readUserRecord(loaded, user, policy);
        // The list of erased users may have become too old while the record was read.
        const isLater = policy.access.nowMs() > checkedMs;
        return isLater && (await policy.isErased(user)) ? undefined : record;
      } catch (error) {
        if (!(error instanceof ReadError || error instanceof FormatError)) throw error;
        if (policy.serveUnfiltered) {
          policy.onUnfiltered(error);
          return undefined;
        }
        const detail = "What this user has seen cannot be read right now, so nothing is ranked. Try again.";
        throw new Problem("user_record_unavailable", detail, { cause: error, retryAfterSeconds: 1 });
      }
    },
  };
}
