import type { MeasuredMean } from "../../shared/evaluation-report.ts";
import { seededRandom } from "../chance/seeded-random.ts";

/** A mean over users and the interval that holds it, percentile bootstrap over users. */
export type Interval = { readonly value: number; readonly low: number; readonly high: number };

export type BootstrapOptions = {
  readonly seed: number;
  /** Share of the resampled means inside the interval, such as 0.95. */
  readonly confidence?: number;
  /** Values resampled for one series; 200 resamples are the least. */
  readonly drawsMax?: number;
};

const DRAWS_MAX = 20_000_000; // about a second
const RESAMPLES_MAX = 1000;
const RESAMPLES_MIN = 200;

/**
 * The mean of each series with its interval. All series are one value per user, in the same order of users, and every
 * resample draws the same users for all of them: so the difference of two series is a paired comparison.
 *
 * Of no user: NaN. The interval of one user is that user's value: whoever decides by an interval also asks for the count.
 */
export function bootstrapMeans(
  series: readonly Float64Array[],
  { seed, confidence = 0.95, drawsMax = DRAWS_MAX }: BootstrapOptions,
): Interval[] {
  const users = series[0]?.length ?? 0;
  if (users === 0) return series.map(() => ({ value: Number.NaN, low: Number.NaN, high: Number.NaN }));
  const wanted = confidence > 0.99 ? 4 * RESAMPLES_MAX : RESAMPLES_MAX;
  const resamples = Math.max(RESAMPLES_MIN, Math.min(wanted, Math.floor(drawsMax / users)));
  const random = seededRandom(seed, users);
  const means = series.map(() => new Float64Array(resamples));
  const filled = series.map(notZero);
  const times = new Uint16Array(users); // more than 65,535 draws of one user do not happen
  for (let resample = 0; resample < resamples; resample++) {
    times.fill(0);
    for (let i = 0; i < users; i++) times[Math.floor(random() * users)]!++;
    for (const [s, part] of filled.entries()) means[s]![resample] = weightedSum(part, times) / users;
  }
  const tail = (1 - confidence) / 2;
  return series.map((values, s) => {
    const sorted = means[s]!.sort();
    const value = mean(values);
    // The percentiles of a lopsided sample may miss its own mean by a hair: the interval always holds the value.
    return { value, low: Math.min(value, quantile(sorted, tail)), high: Math.max(value, quantile(sorted, 1 - tail)) };
  });
}

/** The mean of a − b, paired by user. */
export function pairedDifference(a: Float64Array, b: Float64Array, options: BootstrapOptions): Interval {
  return bootstrapMeans([a.map((value, user) => value - b[user]!)], options)[0]!;
}

/** Numbers as JSON can have them: what could not be measured is null. */
export const toMeasured = ({ value, low, high }: Interval): MeasuredMean => ({
  value: finite(value),
  low: finite(low),
  high: finite(high),
});

const finite = (value: number): number | null => (Number.isFinite(value) ? value : null);

/** NaN of nothing. */
export function mean(values: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i]!;
  return sum / values.length;
}

type NotZero = { readonly users: Uint32Array; readonly values: Float64Array };

/** The users with a value other than 0: most have none where hits are rare. */
function notZero(series: Float64Array): NotZero {
  const users = Uint32Array.from(series.keys()).filter((user) => series[user] !== 0);
  return { users, values: Float64Array.from(users, (user) => series[user]!) };
}

function weightedSum({ users, values }: NotZero, times: Uint16Array): number {
  let sum = 0;
  for (let i = 0; i < users.length; i++) sum += times[users[i]!]! * values[i]!;
  return sum;
}

/** Linear between the two nearest order statistics. */
function quantile(sorted: Float64Array, share: number): number {
  const at = share * (sorted.length - 1);
  const low = Math.floor(at);
  const high = Math.min(sorted.length - 1, low + 1);
  return sorted[low]! + (at - low) * (sorted[high]! - sorted[low]!);
}
