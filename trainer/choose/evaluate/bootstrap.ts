import type { MeasuredMean } from "../../../shared/evaluation-report.ts";
import { seededRandom } from "../../learn/numerics/seeded-random.ts";

/** A mean over users and its confidence interval: percentile bootstrap over users. */
export type Interval = { readonly value: number; readonly low: number; readonly high: number };

export type Resampling = {
  readonly seed: number;
  /** Earlier draws of this seed. A report resamples the same users for each candidate, and drawing takes as long as the rest. */
  readonly kept?: KeptDraws;
};

export type BootstrapOptions = Resampling & {
  /** [length of a series] The user of each value, if a user may have several values. Absent: every value is of another user. */
  readonly owners?: ArrayLike<number>;
  /** Fraction of the resampled means inside the interval, such as 0.95. */
  readonly confidence?: number;
  /** Upper bound of the values that are drawn for one series; at least 200 resamples are made. */
  readonly drawsMax?: number;
};

const DRAWS_MAX = 20_000_000; // about a second
const RESAMPLES_MAX = 1000;
const RESAMPLES_MIN = 200;

/**
 * The mean of each series with its interval. All series have the same users in the same order, and every resample draws the same users,
 * each with all its values, for all series. So the difference of two series is a paired comparison.
 *
 * Without users the mean is NaN. With one user the interval is that user's value, so a decision must also check the number of users.
 */
export function bootstrapMeans(
  series: readonly Float64Array[],
  { seed, kept = [], owners, confidence = 0.95, drawsMax = DRAWS_MAX }: BootstrapOptions,
): Interval[] {
  const grouped = groupedBy(owners, series[0]?.length ?? 0);
  const { users } = grouped;
  if (users === 0) return series.map(() => ({ value: Number.NaN, low: Number.NaN, high: Number.NaN }));
  const wanted = confidence > 0.99 ? 4 * RESAMPLES_MAX : RESAMPLES_MAX;
  const resamples = Math.max(RESAMPLES_MIN, Math.min(wanted, Math.floor(drawsMax / users)));
  const means = series.map(() => new Float64Array(resamples));
  const filled = series.map((values) => notZero(grouped.sums(values)));
  const sizes = grouped.sizes && notZero(grouped.sizes);
  const drawn = new Float64Array(resamples).fill(sizes ? 0 : users); // values in each resample
  for (const { from, count, times } of drawnBlocks({ users, resamples }, { seed, kept })) {
    for (const [s, part] of filled.entries()) addWeighted(means[s]!.subarray(from, from + count), part, times);
    if (sizes) addWeighted(drawn.subarray(from, from + count), sizes, times);
  }
  for (const sums of means) for (let i = 0; i < resamples; i++) sums[i]! /= drawn[i]!;
  const tail = (1 - confidence) / 2;
  return series.map((values, s) => {
    const sorted = means[s]!.sort();
    const value = mean(values);
    // The percentiles of a skewed sample may exclude its own mean by rounding; the interval always contains the value.
    return { value, low: Math.min(value, quantile(sorted, tail)), high: Math.max(value, quantile(sorted, 1 - tail)) };
  });
}

type Grouped = {
  readonly users: number;
  /** Number of values of each user; undefined when each user has one. */
  readonly sizes: Float64Array | undefined;
  /** The sum of each user's values. */
  readonly sums: (values: Float64Array) => Float64Array;
};

/** Users in the order of their first values. */
function groupedBy(owners: ArrayLike<number> | undefined, length: number): Grouped {
  const userOf = new Map<number, number>();
  const users = new Uint32Array(length);
  for (let i = 0; owners && i < length; i++) {
    const known = userOf.get(owners[i]!);
    users[i] = known ?? userOf.size;
    if (known === undefined) userOf.set(owners[i]!, users[i]!);
  }
  if (!owners || userOf.size === length) return { users: length, sizes: undefined, sums: (values) => values };
  const sums = (values: Float64Array) => {
    const sum = new Float64Array(userOf.size);
    for (let i = 0; i < length; i++) sum[users[i]!]! += values[i]!;
    return sum;
  };
  return { users: userOf.size, sizes: sums(new Float64Array(length).fill(1)), sums };
}

/** The last few draws of one seed. */
export type KeptDraws = (Draws & Block)[];
type Draws = { readonly users: number; readonly resamples: number };
/** How often each user is drawn in the resamples from … from + count − 1. `times` is [users, count]: a user's draws are used together. */
type Block = { readonly from: number; readonly count: number; readonly times: Uint8Array };

const BLOCK_BYTES = 2 ** 19; // a block is written at random places, so it must fit into a core's cache
const KEPT_BYTES = 2 ** 25;
const KEPT_MAX = 3;

function* drawnBlocks({ users, resamples }: Draws, { seed, kept }: Required<Resampling>): Generator<Block> {
  const known = kept.find((one) => one.users === users && one.resamples === resamples);
  if (known !== undefined) return yield known;
  const random = seededRandom(seed, users);
  const isKept = users * resamples <= KEPT_BYTES / KEPT_MAX;
  const countMax = isKept ? resamples : Math.max(1, Math.floor(BLOCK_BYTES / users));
  for (let from = 0; from < resamples; from += countMax) {
    const count = Math.min(countMax, resamples - from);
    const times = new Uint8Array(users * count); // 255 draws of one user in a resample are never reached
    for (let resample = 0; resample < count; resample++)
      for (let i = 0; i < users; i++) times[Math.floor(random() * users) * count + resample]!++;
    if (isKept) kept.splice(0, kept.length, { users, resamples, from, count, times }, ...kept.slice(0, KEPT_MAX - 1));
    yield { from, count, times };
  }
}

/** The mean of a − b, paired by user, with its interval. */
export function pairedDifference(a: Float64Array, b: Float64Array, options: BootstrapOptions): Interval {
  return bootstrapMeans([a.map((value, user) => value - b[user]!)], options)[0]!;
}

/** Numbers that JSON can hold: a value that could not be measured is null. */
export const toMeasured = ({ value, low, high }: Interval): MeasuredMean => ({
  value: finite(value),
  low: finite(low),
  high: finite(high),
});

const finite = (value: number): number | null => (Number.isFinite(value) ? value : null);

/** The mean; NaN without values. */
export function mean(values: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i]!;
  return sum / values.length;
}

type NotZero = { readonly users: Uint32Array; readonly values: Float64Array };

/** The users with a value other than 0. When hits are rare, most users have none. */
function notZero(series: Float64Array): NotZero {
  const users = Uint32Array.from(series.keys()).filter((user) => series[user] !== 0);
  return { users, values: Float64Array.from(users, (user) => series[user]!) };
}

/** Adds to each resample's sum every user's value as often as the user was drawn. */
function addWeighted(sums: Float64Array, { users, values }: NotZero, times: Uint8Array): void {
  const count = sums.length;
  for (let i = 0; i < users.length; i++) {
    const [value, at] = [values[i]!, users[i]! * count];
    for (let resample = 0; resample < count; resample++) sums[resample]! += value * times[at + resample]!;
  }
}

/** Linear between the two nearest order statistics. */
function quantile(sorted: Float64Array, fraction: number): number {
  const at = fraction * (sorted.length - 1);
  const low = Math.floor(at);
  const high = Math.min(sorted.length - 1, low + 1);
  return sorted[low]! + (at - low) * (sorted[high]! - sorted[low]!);
}
