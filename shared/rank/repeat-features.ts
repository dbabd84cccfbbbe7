/** What tells whether a user chooses an item again. Training learns the weights of these features, and ranking uses them. */
import type { ItemIndex } from "../ids.ts";
import { REPEAT_FEATURES, type RepeatsOf } from "../repeat-intervals.ts";
import type { History } from "../snapshot.ts";

/** How a memory fades: the odds that something is needed again fall with the square root of its age. */
export const DECAY = 0.5;
/** The resolution of recorded times, and the smallest age. */
const SECOND_DAYS = 1 / 86_400;

/** How fast nearness falls: two times of the day are near within some two hours, two times of the week within some six. */
const SHARPNESS = { day: 5, week: 20 };
/** So much of an item's choices counts as near any time. */
const ANY_TIME = 0.1;

/**
 * Each distinct item of a history, in the order of its first choice, with its seven features. With the ages a of the moments at which it
 * was chosen, in days, n of them, the last one aₙ; and the item's interval d and repeat rate p:
 *
 *     ln Σ a^−½    often and lately (Anderson and Schooler, Reflections of the Environment in Memory, 1991)
 *     ln n         often
 *     r            ln (aₙ / d), whether it is due
 *     r²           far from when it is due
 *     ln p         whether it is something that one chooses again
 *     ln t         t = (.1 + Σ exp (5 cos 2πa − 5) / n) / 1.1, whether it is chosen at this time of the day
 *     ln w         the same of the week, with 20 cos (2πa / 7) − 20
 *
 * Several entries of an item at one moment count once. Features are finite for all ages, since none is below a second.
 *
 * @returns `features` [chosen.length, 7] in row-major order.
 */
export function repeatFeatures(
  { items, agesDays }: History,
  { daysOf, rateOf }: RepeatsOf,
): { readonly chosen: ItemIndex[]; readonly features: Float64Array } {
  const moments = new Map<ItemIndex, { count: number; activation: number; day: number; week: number; last: number }>();
  for (const [i, item] of items.entries()) {
    const age = Math.max(SECOND_DAYS, agesDays[i]!);
    const own = moments.get(item) ?? { count: 0, activation: 0, day: 0, week: 0, last: Number.POSITIVE_INFINITY };
    if (own.last === age) continue;
    own.count++;
    own.activation += age ** -DECAY;
    own.day += nearness(age % 1, SHARPNESS.day);
    own.week += nearness((age / 7) % 1, SHARPNESS.week);
    own.last = Math.min(own.last, age);
    moments.set(item, own);
  }
  const features = new Float64Array(moments.size * REPEAT_FEATURES);
  let at = 0;
  for (const [item, { count, activation, day, week, last }] of moments) {
    const due = Math.log(last) - Math.log(daysOf(item));
    const choice = [Math.log(activation), Math.log(count), due, due * due, Math.log(rateOf(item))];
    features.set([...choice, atThisTime(day / count), atThisTime(week / count)], at);
    at += REPEAT_FEATURES;
  }
  return { chosen: [...moments.keys()], features };
}

/** From 1 at whole periods towards 0 between them. */
const nearness = (periods: number, sharpness: number): number =>
  Math.exp(sharpness * (Math.cos(2 * Math.PI * periods) - 1));

const atThisTime = (share: number): number => Math.log((ANY_TIME + share) / (ANY_TIME + 1));

/** weights · features of the row. */
export function repeatScore(weights: ArrayLike<number>, features: Float64Array, row: number): number {
  let score = 0;
  for (let f = 0; f < REPEAT_FEATURES; f++) score += weights[f]! * features[row * REPEAT_FEATURES + f]!;
  return score;
}
