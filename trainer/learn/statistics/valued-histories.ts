import type { Interactions } from "../../read/dataset/dataset.ts";
import { distinctItems, type Histories, positiveHistories } from "./histories.ts";

/** Settings of a method in which the items of a set count differently. */
export type ValueParams = {
  /** Above 0: an item counts as (its rating or weight ÷ a large one) to this power; absent: every positive item counts 1. */
  readonly ratings?: number;
  /** 1: the values of an item that a user has repeatedly add up, where every positive row has one; absent: the largest counts. */
  readonly repeats?: number;
  /** With `ratings`: what an event of this type counts before its power; absent: 1. */
  readonly [type: TypeWeight]: number;
};
type TypeWeight = `type:${string}`;
const weightOf = (type: string): TypeWeight => `type:${type}`;

/** What methods try, by the data: the first one is the best guess. */
function valueSettings(data: Interactions): readonly [ValueParams, ...ValueParams[]] {
  if (data.eventTypes) return [{}, ...typeSettings(data, data.eventTypes), ...repeatSettings(data)];
  const values = data.ratings?.filter((value) => value > 0) ?? new Float32Array();
  const isRated = values.some((value) => value !== values[0]);
  const isSkewed = isRated && quantile(values, 0.5) < SKEWED_BELOW * quantile(values, LARGE);
  const damped = [...(isSkewed ? [{ ratings: 0.5 }] : []), ...repeatSettings(data)];
  return isRated ? [{ ratings: 1 }, {}, ...damped] : [{}, ...damped];
}

const repeatSettings = (data: Interactions) => (hasRepeats(data) ? [{ ratings: 0.25, repeats: 1 }] : []);

/** True when at least a twentieth of the positive interactions repeat an item of the same user. */
export const hasRepeats = (data: Interactions): boolean => repeatedFraction(data) >= REPEATED_MIN;

/** The weights of types are changed one at a time, relative to the most common type. */
function typeSettings({ ratings }: Interactions, types: readonly string[]): ValueParams[] {
  const counts = types.map(() => 0);
  for (const number of ratings!) if (number > 0) counts[number - 1]!++;
  const byCount = types.map((type, i) => ({ type, count: counts[i]! })).sort((a, b) => b.count - a.count);
  const others = byCount.slice(1, 1 + TYPES_MAX).filter(({ count }) => count >= TYPE_EVENTS_MIN);
  return others.flatMap(({ type }) => TYPE_WEIGHTS.map((weight) => ({ ratings: 1, [weightOf(type)]: weight })));
}

const TYPES_MAX = 4;
const TYPE_EVENTS_MIN = 100;
const TYPE_WEIGHTS = [3, 0.3, 10] as const;
const REPEATED_MIN = 0.05;
const SKEWED_BELOW = 0.3;
/** Values are relative to this quantile of them, and at most so many times as large: few extreme ones must not make others vanish. */
const LARGE = 0.95;
const TIMES_LARGE_MAX = 30;
/** Quantiles and repeats are those of about this many values. */
const SAMPLE_MAX = 100_000;

/** Every setting has the best guess for the values, and the first setting is also tried with the others. */
export function withValues<P extends ValueParams>(data: Interactions, [first, ...others]: readonly [P, ...P[]]): P[] {
  const [guess, ...further] = valueSettings(data);
  return [
    { ...first, ...guess },
    ...further.map((values) => ({ ...first, ...values })),
    ...others.map((params) => ({ ...params, ...guess })),
  ];
}

/** The distinct items of each user's newest interactions, ascending; at most `newest` interactions per user. */
export const learnedSets = (data: Interactions, params: ValueParams, newest: number): Histories =>
  (params.ratings ?? 0) > 0 ? valuedHistories(data, params, newest) : distinctItems(positiveHistories(data, newest));

/**
 * Distinct items with a value above 0, ascending. Without ratings and types of events every positive row has the value 1.
 * Low ratings are kept: the item was chosen nevertheless, and keeping it measured better (LOG.md, "Ratings").
 */
function valuedHistories(data: Interactions, params: ValueParams, newest: number): Histories {
  const { userStart, userCount, itemCount, items } = data;
  const { ratings: power = 1, repeats = 0 } = params;
  const rows = rowValues(data, params);
  const positive = Uint8Array.from(rows, (value) => (value > 0 ? 1 : 0));
  const distinct = distinctItems(positiveHistories({ ...data, positive }, newest));
  const values = new Float32Array(distinct.items.length);
  const totalOf = new Map<number, number>();
  for (let user = 0; user < userCount; user++) {
    totalOf.clear();
    for (let at = userStart[user]!; at < userStart[user + 1]!; at++) {
      const before = totalOf.get(items[at]!) ?? 0;
      totalOf.set(items[at]!, repeats > 0 ? before + rows[at]! : Math.max(before, rows[at]!));
    }
    for (let at = distinct.start[user]!; at < distinct.start[user + 1]!; at++) {
      values[at] = totalOf.get(distinct.items[at]!)!;
    }
  }
  const large = quantile(values, LARGE);
  // Values that vanish next to a large one would leak sums into the next row of the statistics.
  const scaled = values.map((value) => Math.max(SMALLEST, Math.min(TIMES_LARGE_MAX, value / large) ** power));
  return { userCount, itemCount, start: distinct.start, items: distinct.items, values: scaled };
}

const SMALLEST = 1e-6;

function rowValues({ ratings, positive, eventTypes }: Interactions, params: ValueParams): Float32Array | Uint8Array {
  if (ratings === null || eventTypes === undefined) return ratings ?? positive;
  const weights = [0, ...eventTypes.map((type) => params[weightOf(type)] ?? 1)];
  return ratings.map((number) => weights[number]!);
}

/** The fraction of positive interactions whose user has the same item more than once, without the first of them. */
export function repeatedFraction({ userCount, userStart, items, positive }: Interactions): number {
  let [count, repeated] = [0, 0];
  const own = new Set<number>();
  for (let user = 0; user < userCount && count < SAMPLE_MAX; user++) {
    own.clear();
    for (let at = userStart[user]!; at < userStart[user + 1]!; at++) {
      if (!positive[at]) continue;
      count++;
      if (own.has(items[at]!)) repeated++;
      own.add(items[at]!);
    }
  }
  return repeated / Math.max(1, count);
}

function quantile(values: Float32Array, fraction: number): number {
  const step = Math.ceil(values.length / SAMPLE_MAX);
  const sorted = values.filter((_, i) => i % step === 0).sort();
  return sorted[Math.floor(fraction * (sorted.length - 1))] ?? 1;
}
