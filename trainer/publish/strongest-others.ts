import { topK } from "../../shared/top-k.ts";
import { addCoOccurrences, type CoOccurrence } from "../learn/statistics/co-occurrence.ts";
import { clearRow, rowSum } from "../learn/weights/row-sum.ts";

export type Strong = { readonly other: number; readonly strength: number };

/**
 * Returns a function that gives the items which occur with an item and whose strength is above 0, the strongest first, at most `limit`.
 * `strengthOf` gets such an item and the number of histories with both.
 */
export function strongestOthers(counts: CoOccurrence, limit: number) {
  const { itemCount } = counts.histories;
  const row = rowSum(itemCount);
  const scratch = new Float32Array(itemCount);
  return (item: number, strengthOf: (other: number, both: number) => number): Strong[] => {
    addCoOccurrences(counts, item, row, "whole");
    const strengths = scratch.subarray(0, row.count);
    for (let at = 0; at < row.count; at++) {
      const other = row.touched[at]!;
      strengths[at] = other === item ? 0 : strengthOf(other, row.values[other]!);
    }
    const best = topK(strengths, limit, (at) => strengths[at]! > 0);
    const strongest = best.map((at) => ({ other: row.touched[at]!, strength: strengths[at]! }));
    clearRow(row);
    return strongest;
  };
}
