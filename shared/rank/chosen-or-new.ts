/** Lists in which what the user has chosen before competes with what is new to the user. */
import type { ItemIndex } from "../ids.ts";
import { PLACE_RANGES, PLACES_MAX, type RepeatOdds } from "../repeat-intervals.ts";
import { bestScores, scoreAt } from "./score-places.ts";

/** ln of the middle of each range of places. */
const MIDDLES = Array.from({ length: PLACE_RANGES }, (_, range) =>
  Math.log(range < 2 ? range + 1 : (2 ** (range - 1) + 1 + 2 ** range) / 2),
);

/**
 * Gives items that were chosen before the score at which a new item would be chosen as likely. Models do not know how likely somebody is to
 * choose the same again: they learn from histories in which it is left out, or counts as any other item.
 *
 * @param again The score of each such item among them (chosen-again.ts). There is at least one.
 * @param odds Those of a nested logit, by which all are compared with the new items in the order of their scores, which stay as they are.
 */
export function joinChosen(
  scores: Float32Array,
  again: ReadonlyMap<ItemIndex, number>,
  { odds, isHidden }: { readonly odds: RepeatOdds; readonly isHidden: ((item: ItemIndex) => boolean) | undefined },
): void {
  const isNew = (item: ItemIndex) => !again.has(item) && !isHidden?.(item);
  const best = bestScores(scores, PLACES_MAX, isNew);
  const { intercept, slope, range, places } = odds;
  const inclusive = logSumExp([...again.values()]);
  const repeated = intercept + slope * Math.min(range[1], Math.max(range[0], inclusive)); // ln of the odds of a repeated choice
  const shares = places.map(Math.log);
  for (const [item, value] of again) scores[item] = scoreAt(placeWith(repeated + value - inclusive, shares), best);
}

/** ln of the place at which a new item has this share, between the middles of the ranges, and beyond them with a share of 1 / place. */
function placeWith(share: number, shares: readonly number[]): number {
  const next = shares.findIndex((other) => other < share);
  if (next === 0) return shares[0]! - share;
  if (next === -1) return MIDDLES.at(-1)! + shares.at(-1)! - share;
  const [from, to] = [MIDDLES[next - 1]!, MIDDLES[next]!];
  return from + ((to - from) * (shares[next - 1]! - share)) / (shares[next - 1]! - shares[next]!);
}

/** ln Σ exp value, without overflow. */
export function logSumExp(values: readonly number[]): number {
  const largest = values.reduce((max, value) => Math.max(max, value), Number.NEGATIVE_INFINITY);
  return largest + Math.log(values.reduce((sum, value) => sum + Math.exp(value - largest), 0));
}
