import type { Snapshot } from "../../shared/snapshot.ts";

/**
 * A snapshot whose scores, and whatever else is as large as the catalog, are emptied once the request is over. Those of a
 * large catalog are megabytes each: as garbage they would fill an isolate within seconds.
 */
export function lentScores(snapshot: Snapshot): { readonly snapshot: Snapshot; readonly giveBack: () => void } {
  const lent: ArrayBufferView[] = [];
  const lend = <Table extends ArrayBufferView>(table: Table): Table => {
    lent.push(table);
    return table;
  };
  const { scoreByValues } = snapshot;
  return {
    snapshot: {
      ...snapshot,
      score: async (history) => lend(await snapshot.score(history)),
      scoreByValues: scoreByValues && ((values) => lend(scoreByValues(values))),
      compileFilter: (query) => snapshot.compileFilter(query, lend),
    },
    giveBack() {
      for (const { buffer } of lent.splice(0)) if (buffer instanceof ArrayBuffer) buffer.transfer(0);
    },
  };
}
