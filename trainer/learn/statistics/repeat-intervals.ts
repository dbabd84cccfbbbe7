import { type ItemRepeats, type RepeatTable, repeatsOf } from "../../../shared/repeat-intervals.ts";
import type { Interactions } from "../../read/dataset/dataset.ts";
import { casesIn, heldOutVisits } from "./repeat-cases.ts";
import { fitRepeatWeights } from "./repeat-weights.ts";
import { visitStarts } from "./visits.ts";

/** With fewer repetitions in all, there is no interval that is worth anything. */
const REPETITIONS_MIN = 100;
/** The usual interval counts as so many repetitions of each item, and the usual rate as so many later visits. */
const SHRINKAGE = 5;
const ITEMS_MAX = 100_000;
const DAY_SECONDS = 86_400;

/**
 * Intervals and repeat rates of items, and the weights of a history's features that predict best what is chosen again. Undefined if there
 * are too few repetitions.
 *
 * Weights are learnt from visits of some users with statistics of what came before these visits, so that no rate knows what is to be
 * predicted. Without enough of them, the weights are those that are usual.
 */
export function repeatIntervals(data: Interactions): RepeatTable | undefined {
  const repeats = itemRepeats(data);
  if (!repeats) return undefined;
  const heldOut = heldOutVisits(data);
  const startOf = new Map(heldOut.map(({ user, before }) => [user, before]));
  const before = itemRepeats(data, (user) => startOf.get(user) ?? data.userStart[user + 1]!);
  const cases = before ? casesIn(data, heldOut, repeatsOf(before)) : [];
  return { itemCount: data.itemCount, ...repeats, weights: fitRepeatWeights(cases) };
}

/**
 * By item, the geometric mean of the times from one visit of a user with the item to the next one, and how many of the visits after a
 * user's first choice of the item have it again.
 *
 * @param endOf The row at which a user's rows end that count.
 */
function itemRepeats(
  data: Interactions,
  endOf = (user: number): number => data.userStart[user + 1]!,
): ItemRepeats | undefined {
  const { itemCount, userCount, userStart, items, times, positive } = data;
  const [repetitions, exposures] = [new Uint32Array(itemCount), new Uint32Array(itemCount)];
  const logarithms = new Float64Array(itemCount); // the sum over repetitions of ln seconds
  const lastUser = new Int32Array(itemCount).fill(-1);
  const lastTime = new Uint32Array(itemCount);
  for (let user = 0; user < userCount; user++) {
    const end = endOf(user);
    let later = visitStarts(data, user, end).length;
    let visitTime = -1;
    for (let row = userStart[user]!; row < end; row++) {
      if (!positive[row]) continue;
      const [item, time] = [items[row]!, times[row]!];
      if (time !== visitTime) later--;
      visitTime = time;
      if (lastUser[item] !== user) exposures[item]! += later;
      else if (lastTime[item] !== time) {
        repetitions[item]!++;
        logarithms[item]! += Math.log(time - lastTime[item]!);
      }
      lastUser[item] = user;
      lastTime[item] = time;
    }
  }
  return shrunk({ repetitions, exposures, logarithms });
}

type Sums = {
  readonly repetitions: Uint32Array;
  readonly exposures: Uint32Array;
  readonly logarithms: Float64Array;
};

function shrunk({ repetitions, exposures, logarithms }: Sums): ItemRepeats | undefined {
  const count = sumOf(repetitions);
  if (count < REPETITIONS_MIN) return undefined;
  const usualLog = sumOf(logarithms) / count;
  const usualRate = count / sumOf(exposures);
  const least = Math.max(1, exposures.toSorted().at(-ITEMS_MAX) ?? 0);
  const items = Uint32Array.from(exposures.keys())
    .filter((item) => exposures[item]! >= least)
    .slice(0, ITEMS_MAX);
  const daysOf = (item: number) =>
    Math.exp((logarithms[item]! + SHRINKAGE * usualLog) / (repetitions[item]! + SHRINKAGE)) / DAY_SECONDS;
  const rateOf = (item: number) => (repetitions[item]! + SHRINKAGE * usualRate) / (exposures[item]! + SHRINKAGE);
  return {
    usualDays: Math.exp(usualLog) / DAY_SECONDS,
    usualRate,
    items,
    days: Float32Array.from(items, daysOf),
    rates: Float32Array.from(items, rateOf),
  };
}

const sumOf = (values: Uint32Array | Float64Array): number => {
  let sum = 0;
  for (const value of values) sum += value;
  return sum;
};
