import type { IntervalTable } from "../../../shared/repeat-intervals.ts";
import type { Interactions } from "../../read/dataset/dataset.ts";

/** With fewer repetitions in all, there is no interval that is worth anything. */
const REPETITIONS_MIN = 100;
/** The usual interval counts as so many repetitions of each item. */
const SHRINKAGE = 5;
const ITEMS_MAX = 100_000;
const DAY_SECONDS = 86_400;

/**
 * The geometric mean of the times between a user's positive interactions with the same item, one after the other. Undefined if there are
 * too few of them.
 */
export function repeatIntervals({
  itemCount,
  userCount,
  userStart,
  items,
  times,
  positive,
}: Interactions): IntervalTable | undefined {
  const sums = new Map<number, { count: number; logarithms: number }>(); // by item
  const lastUser = new Int32Array(itemCount).fill(-1);
  const lastTime = new Float64Array(itemCount);
  let [count, logarithms] = [0, 0];
  for (let user = 0; user < userCount; user++) {
    for (let row = userStart[user]!; row < userStart[user + 1]!; row++) {
      if (!positive[row]) continue;
      const item = items[row]!;
      if (lastUser[item] === user) {
        const logarithm = Math.log(Math.max(1, times[row]! - lastTime[item]!));
        const own = sums.get(item) ?? { count: 0, logarithms: 0 };
        sums.set(item, { count: own.count + 1, logarithms: own.logarithms + logarithm });
        count++;
        logarithms += logarithm;
      }
      lastUser[item] = user;
      lastTime[item] = times[row]!;
    }
  }
  if (count < REPETITIONS_MIN) return undefined;
  const usual = logarithms / count;
  const listed = [...sums].sort(([a, ofA], [b, ofB]) => ofB.count - ofA.count || a - b).slice(0, ITEMS_MAX);
  listed.sort(([a], [b]) => a - b);
  const shrunk = ([, own]: (typeof listed)[number]) =>
    Math.exp((own.logarithms + SHRINKAGE * usual) / (own.count + SHRINKAGE)) / DAY_SECONDS;
  return {
    itemCount,
    usualDays: Math.exp(usual) / DAY_SECONDS,
    items: Uint32Array.from(listed, ([item]) => item),
    days: Float32Array.from(listed, shrunk),
  };
}
