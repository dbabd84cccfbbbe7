import type { Snapshot } from "../../shared/snapshot.ts";

/**
 * A snapshot for one request. `release` frees its scores and every other array of the catalog's size. For a large catalog these are
 * megabytes each: as garbage, they would fill the isolate's memory within seconds.
 */
export function leasedScores(snapshot: Snapshot): { readonly snapshot: Snapshot; readonly release: () => void } {
  const leased: ArrayBufferView[] = [];
  const lease = <Table extends ArrayBufferView>(table: Table): Table => {
    leased.push(table);
    return table;
  };
  const { scoreByValues } = snapshot;
  return {
    snapshot: {
      ...snapshot,
      score: async (history) => lease(await snapshot.score(history)),
      scoreByValues: scoreByValues && ((values) => lease(scoreByValues(values))),
      compileFilter: (filter) => snapshot.compileFilter(filter, lease),
    },
    release() {
      for (const { buffer } of leased.splice(0)) if (buffer instanceof ArrayBuffer) buffer.transfer(0);
    },
  };
}
