import type { Snapshot } from "../shared/snapshot.ts";

/**
 * A snapshot whose scores are emptied once the request is over. Those of a large catalog are megabytes each: as garbage
 * they would fill an isolate within seconds.
 */
export function lentScores(snapshot: Snapshot): { readonly snapshot: Snapshot; readonly giveBack: () => void } {
  const lent: Float32Array[] = [];
  return {
    snapshot: {
      ...snapshot,
      async score(history) {
        const scores = await snapshot.score(history);
        lent.push(scores);
        return scores;
      },
    },
    giveBack() {
      for (const { buffer } of lent.splice(0)) if (buffer instanceof ArrayBuffer) buffer.transfer(0);
    },
  };
}
