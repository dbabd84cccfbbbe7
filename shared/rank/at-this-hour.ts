/** Lists that know the time of the day: breakfast in the morning. Models do not. */
import type { ItemIndex } from "../ids.ts";
import { type ItemHours, SHIFT_SCALE, SLOTS, slotsOf } from "../item-hours.ts";
import { type BestScores, bestScores, logPlaceOf, scoreAt } from "./score-places.ts";

/** Time passes in steps of a quarter of an hour, so that the pages of a list fit together. */
const STEP_SECONDS = 900;
/** Places that are told apart; what is behind them is far from any list. */
const PLACES = 64;
/** A new item at place p is chosen with a chance of about 1 / (p + 5): measured on check-ins, where 1 and 20 are worse. */
const OFFSET = 5;

/**
 * Moves each item to the place that its odds at this time of the day deserve, by Bayes' rule: the chance that goes with its place, times
 * how much more often the item is chosen at this time than items are on average.
 *
 * @param isNew Whether the list may show the item, as far as this is known.
 */
export function moveToThisHour(
  scores: Float32Array,
  { items, shifts }: ItemHours,
  { nowSeconds, isNew }: { readonly nowSeconds: number; readonly isNew: (item: ItemIndex) => boolean },
): void {
  const best = bestScores(scores, PLACES, isNew);
  const last = best.best.at(-1)!;
  const { from, to, part } = slotsOf(nowSeconds - (nowSeconds % STEP_SECONDS));
  const unit = best.deviation / SHIFT_SCALE;
  const [before, after] = [unit * (1 - part), unit * part];
  for (let at = 0, first = 0; at < items.length; at++, first += SLOTS) {
    const item = items[at]!;
    const score = scores[item]!;
    const deviations = before * shifts[first + from]! + after * shifts[first + to]!;
    // Most items are far behind, where no logarithms are needed.
    if (score < last && score + deviations < last) scores[item] = score + deviations;
    else if (deviations !== 0) scores[item] = movedBy(score, deviations / best.deviation, best);
  }
}

/** The score at the place whose chance is exp(shift) times as high. Before the first place, an e-fold of chance is a deviation. */
function movedBy(score: number, shift: number, best: BestScores): number {
  const ahead = Math.log(1 + OFFSET);
  const logPlace = logPlaceOf(score, best);
  const distance = logPlace <= 0 ? ahead + logPlace : Math.log(Math.exp(logPlace) + OFFSET);
  const moved = distance - shift;
  return scoreAt(moved <= ahead ? moved - ahead : Math.log(Math.exp(moved) - OFFSET), best);
}
