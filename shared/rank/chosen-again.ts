/** What a user may want again: the items that the user has chosen before. */
import type { ItemIndex } from "../ids.ts";
import type { RepeatIntervals } from "../repeat-intervals.ts";
import type { History } from "../snapshot.ts";
import { scoresAmong } from "./score-scale.ts";

/** How a memory fades: the odds that something is needed again fall with the square root of its age. */
const DECAY = 0.5;
/** What happened within the last hour counts as an hour old. */
const AGE_DAYS_MIN = 1 / 24;

/** The same where intervals are known: ages, in intervals, then differ by more. */
const INTERVAL_DECAY = 1;
/** How steeply the wish returns after an item was chosen. Best on the first half of retailrocket's test sessions among 1.3, 1.5 and 1.7. */
const RETURN_POWER = 1.5;
const SECOND = 1 / 86_400;

/**
 * Scores of a catalog in which the history's items have their activation, ln Σ age^−½ over the times at which each was chosen, so that both
 * often and lately count (Anderson and Schooler, Reflections of the Environment in Memory, 1991). They are on the scale of popularity, so
 * that boosts weigh as much as elsewhere.
 *
 * If the version knows after how long items are chosen again, ages are counted in the item's interval, and what was chosen a moment ago
 * is not yet wanted: Σ age^−1 · r^1.5 / (1 + r^1.5), where r is the age of the last choice.
 */
export function chosenAgain(
  { items, agesDays }: History,
  itemCount: number,
  intervals?: RepeatIntervals | null,
): { scores: Float32Array; chosen: ItemIndex[] } {
  const ages = new Map<ItemIndex, number[]>();
  for (const [i, item] of items.entries()) ages.set(item, [...(ages.get(item) ?? []), agesDays[i]!]);
  const activationOf = intervals ? withInterval(intervals) : activation;
  const values = new Map([...ages].map(([item, own]) => [item, Math.log(activationOf(own, item))]));
  return { scores: scoresAmong(values, itemCount), chosen: [...ages.keys()] };
}

const activation = (ages: readonly number[]): number =>
  ages.reduce((sum, age) => sum + Math.max(AGE_DAYS_MIN, age) ** -DECAY, 0);

const withInterval =
  (intervals: RepeatIntervals) =>
  (agesDays: readonly number[], item: ItemIndex): number => {
    const days = intervals.daysOf(item);
    const ages = agesDays.map((age) => Math.max(SECOND, age) / days);
    const returned = Math.min(...ages) ** RETURN_POWER;
    return (returned / (1 + returned)) * ages.reduce((sum, age) => sum + age ** -INTERVAL_DECAY, 0);
  };
