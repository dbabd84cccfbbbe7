import { seededRandom } from "./seeded-random.ts";

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
  const drawn = new Uint32Array(users);
  for (let resample = 0; resample < resamples; resample++) {
    for (let i = 0; i < users; i++) drawn[i] = Math.floor(random() * users);
    for (const [s, values] of series.entries()) means[s]![resample] = meanAt(values, drawn);
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

/** NaN of nothing. */
export function mean(values: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < values.length; i++) sum += values[i]!;
  return sum / values.length;
}

function meanAt(values: Float64Array, positions: Uint32Array): number {
  let sum = 0;
  for (let i = 0; i < positions.length; i++) sum += values[positions[i]!]!;
  return sum / positions.length;
}

/** Linear between the two nearest order statistics. */
function quantile(sorted: Float64Array, share: number): number {
  const at = share * (sorted.length - 1);
  const low = Math.floor(at);
  const high = Math.min(sorted.length - 1, low + 1);
  return sorted[low]! + (at - low) * (sorted[high]! - sorted[low]!);
}
