import { compileFilter } from "../../shared/filter/compile-filter.ts";
import { POPULARITY } from "../../shared/manifest.ts";
import { selecting } from "../../shared/rank/reasons.ts";
import type { Snapshot, UserRecord } from "../../shared/snapshot.ts";
import type { LoadedVersion } from "./load-version.ts";

/**
 * A loaded version for one request, whose only user is the one of `record`.
 *
 * `release` frees the scores and every other array of the catalog's size. For a large catalog these are megabytes each: as garbage, they
 * would fill the isolate's memory within seconds.
 */
export function snapshotOf(
  loaded: LoadedVersion,
  { record, liveChoices }: { readonly record?: UserRecord | undefined } & Pick<Snapshot, "liveChoices"> = {},
): { readonly snapshot: Snapshot; readonly release: () => void } {
  const { manifest, catalog, newCount, placed, attributes, isHidden, userValues, scorer, target } = loaded;
  const leased: ArrayBufferView[] = [];
  const lease = <Table extends ArrayBufferView>(table: Table): Table => {
    leased.push(table);
    return table;
  };
  const leaseIfAny = (table: Float32Array | undefined) => table && lease(table);
  const filterSource = { table: attributes, catalog, itemIdColumn: manifest.item_id_column, onTable: lease };
  return {
    snapshot: {
      version: target.live.version,
      itemCount: manifest.item_count,
      newCount,
      placed,
      itemIdType: manifest.item_id_type,
      historyMax: manifest.model.history_max,
      personalizes: manifest.model.method !== POPULARITY,
      sessions: manifest.sessions,
      itemCreatedAt: manifest.item_created_at,
      indexOf: catalog.indexOf,
      idAt: catalog.idAt,
      userRecord: async () => record,
      attributes,
      isHidden,
      similarity: loaded.similarity,
      recentChoices: loaded.recentChoices,
      together: loaded.together,
      repeatIntervals: loaded.repeatIntervals,
      itemHours: loaded.itemHours,
      liveChoices,
      onTable: lease,
      score: async (history) => lease(await scorer.score(history)),
      // Scores are freed at once: a call may need them twenty times.
      scoreAt: async (histories, items) =>
        loaded.fewScores?.(histories, items) ?? selecting(scorer.score, free)(histories, items),
      scoreByValues: userValues ? (values) => leaseIfAny(userValues.scoreIfAny(values)) : undefined,
      userAttributes: userValues?.attributesOf,
      compileFilter: (filter, timeFraction) => compileFilter(filter, filterSource, timeFraction),
    },
    release() {
      for (const table of leased.splice(0)) free(table);
    },
  };
}

function free({ buffer }: ArrayBufferView): void {
  if (buffer instanceof ArrayBuffer) buffer.transfer(0);
}
