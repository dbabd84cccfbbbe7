/** What tells whether a user chooses an item again. Training learns the weights of these features, and ranking uses them. */
import type { ItemIndex } from "../ids.ts";
import { REPEAT_FEATURES, type RepeatsOf } from "../repeat-intervals.ts";
import type { History } from "../snapshot.ts";

/** How a memory fades: the odds that something is needed again fall with the square root of its age. */
export const DECAY = 0.5;
/** The resolution of recorded times, and the smallest age. */
const SECOND_DAYS = 1 / 86_400;

/**
 * Each distinct item of a history, in the order of its first choice, with its five features. With the ages a of the moments at which it
 * was chosen, in days, n of them, the last one aₙ; and the item's interval d and repeat rate p:
 *
 *     ln Σ a^−½    often and lately (Anderson and Schooler, Reflections of the Environment in Memory, 1991)
 *     ln n         often
 *     r            ln (aₙ / d), whether it is due
 *     r²           far from when it is due
 *     ln p         whether it is something that one chooses again
 *
 * Several entries of an item at one moment count once. Features are finite for all ages, since none is below a second.
 *
 * @returns `features` [chosen.length, 5] in row-major order.
 */
export function repeatFeatures(
  { items, agesDays }: History,
  { daysOf, rateOf }: RepeatsOf,
): { readonly chosen: ItemIndex[]; readonly features: Float64Array } {
  const moments = new Map<ItemIndex, { count: number; activation: number; last: number }>();
  for (const [i, item] of items.entries()) {
    const age = Math.max(SECOND_DAYS, agesDays[i]!);
    const own = moments.get(item);
    if (!own) moments.set(item, { count: 1, activation: age ** -DECAY, last: age });
    else if (own.last !== age) {
      own.count++;
      own.activation += age ** -DECAY;
      own.last = Math.min(own.last, age);
    }
  }
  const features = new Float64Array(moments.size * REPEAT_FEATURES);
  let at = 0;
  for (const [item, { count, activation, last }] of moments) {
    const due = Math.log(last) - Math.log(daysOf(item));
    features.set([Math.log(activation), Math.log(count), due, due * due, Math.log(rateOf(item))], at);
    at += REPEAT_FEATURES;
  }
  return { chosen: [...moments.keys()], features };
}

/** weights · features of the row. */
export function repeatScore(weights: ArrayLike<number>, features: Float64Array, row: number): number {
  let score = 0;
  for (let f = 0; f < REPEAT_FEATURES; f++) score += weights[f]! * features[row * REPEAT_FEATURES + f]!;
  return score;
}
