/**
 * Which arm of an experiment is better. The intervals hold at all times together, so one may look every day and stop at the first verdict.
 *
 * The lift is the ratio of two rates, judged on the logarithm, whose variance comes from the delta method. Its interval is the
 * normal-mixture confidence sequence of Robbins (1970) as in Johari, Pekelis and Walsh (Always valid inference, 2017), with asymptotic
 * coverage as in Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas (2021).
 *
 * Rates are adjusted for what users did before their first list of the experiment, which no arm can have changed, so that chance
 * differences between the users of the arms count less: CUPED as in Deng, Xu, Kohavi and Walker (Improving the sensitivity of online
 * controlled experiments by utilizing pre-experiment data, 2013).
 */

/** Users of one arm: how many saw a list, and how many of these then reached the goal. */
export type ArmCount = {
  readonly exposed: number;
  readonly reached: number;
  /** Absent: nothing is known of the time before. */
  readonly before?: ActivitySums;
};

/** Sums over users of their `activityLevel`. */
export type ActivitySums = {
  readonly sum: number;
  readonly squares: number;
  /** Over the users who reached the goal. */
  readonly ofReached: number;
};

const LEVEL_MAX = 7;

/** How active a user was, 0 to 7, by the events before the first list: on a logarithmic scale, since few users have most events. */
export const activityLevel = (events: number): number => Math.min(LEVEL_MAX, Math.floor(Math.log2(1 + events)));

export type Lift = {
  /** Relative: .05 is five per cent more users than in the first arm. */
  readonly value: number;
  readonly low: number;
  readonly high: number;
  /** The part of the variance, 0 to 1, that the users' activity before the experiment explains. */
  readonly variance_removed: number;
};

export type ArmVerdict = "running" | "better" | "worse" | "no_difference";

/** Error of all intervals of an experiment together. */
const ERROR = 0.05;
/** The standard deviation of log lifts that the mixture expects: the intervals are narrowest around lifts of this size. */
const PRIOR = 0.1;
/** Fewer users who reached the goal are too few for a normal distribution. */
const REACHED_MIN = 25;
/** A lift within this is no difference. */
const SMALL = 0.05;

/**
 * The lift of an arm over the first one; undefined while an arm has too few users who reached the goal.
 *
 * @param comparisons How many intervals share the error.
 */
export function liftOf(first: ArmCount, arm: ArmCount, comparisons: number): Lift | undefined {
  if (Math.min(first.reached, arm.reached) < REACHED_MIN) return undefined;
  const plain = [first, arm].map((count) => adjusted(count, UNADJUSTED)) as [LogRate, LogRate];
  const corrected = [first, arm].map((count) => adjusted(count, slopeOf(first, arm))) as [LogRate, LogRate];
  const isUsable = corrected.every(({ log, variance }) => Number.isFinite(log) && variance > 0);
  const [theirs, ours] = isUsable ? corrected : plain;
  const variance = theirs.variance + ours.variance;
  const log = ours.log - theirs.log;
  const radius = radiusOf(variance, ERROR / comparisons);
  return {
    value: Math.exp(log) - 1,
    low: Math.exp(log - radius) - 1,
    high: Math.exp(log + radius) - 1,
    variance_removed: Math.max(0, 1 - variance / (plain[0].variance + plain[1].variance)),
  };
}

/** How the rate depends on the activity before, and the mean activity of both arms together. */
type Slope = { readonly slope: number; readonly mean: number };
const UNADJUSTED: Slope = { slope: 0, mean: 0 };

/** The slope that leaves the smallest variance: covariance of goal and activity over the variance of the activity, within the arms. */
function slopeOf(...arms: readonly ArmCount[]): Slope {
  let [users, sum, covariance, variance] = [0, 0, 0, 0];
  for (const count of arms) {
    const { exposed, before } = count;
    if (before === undefined) return UNADJUSTED;
    users += exposed;
    sum += before.sum;
    covariance += before.ofReached - rateOf(count) * before.sum;
    variance += before.squares - before.sum ** 2 / exposed;
  }
  return variance > 0 ? { slope: covariance / variance, mean: sum / users } : UNADJUSTED;
}

/** The logarithm of a rate, and its variance by the delta method. */
type LogRate = { readonly log: number; readonly variance: number };

/** The logarithm is NaN if the adjusted rate is not positive. */
function adjusted(count: ArmCount, { slope, mean }: Slope): LogRate {
  const { exposed, before = NO_ACTIVITY } = count;
  const [rate, activity] = [rateOf(count), before.sum / exposed];
  const adjustedRate = rate - slope * (activity - mean);
  const covariance = before.ofReached / exposed - rate * activity;
  const ofActivity = before.squares / exposed - activity ** 2;
  const perUser = rate * (1 - rate) - 2 * slope * covariance + slope ** 2 * ofActivity;
  return { log: Math.log(adjustedRate), variance: perUser / (exposed * adjustedRate ** 2) };
}

const NO_ACTIVITY: ActivitySums = { sum: 0, squares: 0, ofReached: 0 };

export const rateOf = ({ exposed, reached }: ArmCount): number => (exposed === 0 ? 0 : reached / exposed);

/** Half the width of the confidence sequence of a normal mean whose estimate has this variance. */
function radiusOf(variance: number, error: number): number {
  const sum = variance + PRIOR ** 2;
  return Math.sqrt((variance * sum * Math.log(sum / (variance * error ** 2))) / PRIOR ** 2);
}

type Interval = Omit<Lift, "variance_removed">;

/** @param guard The lift of what must not get worse; undefined also without a guard. */
export function verdictOf(lift: Interval | undefined, guard: Interval | undefined): ArmVerdict {
  if (guard && guard.high < 0) return "worse";
  if (lift === undefined) return "running";
  if (lift.low > 0) return "better";
  if (lift.high < 0) return "worse";
  return lift.low > -SMALL && lift.high < SMALL ? "no_difference" : "running";
}

/**
 * How many more users each arm needs until a lift of 5 % is detected, if the rate stays; null without enough users to know the rate.
 *
 * @param varianceRemoved The part of the variance that the users' activity explains.
 */
export function usersToDetect(first: ArmCount, comparisons: number, varianceRemoved = 0): number | null {
  if (first.reached < REACHED_MIN) return null;
  const perUser = ((1 - varianceRemoved) * (1 - rateOf(first))) / rateOf(first);
  const wanted = Math.log(1 + SMALL);
  let [low, high] = [1, 1e12];
  while (high / low > 1.001) {
    const middle = Math.sqrt(low * high);
    if (radiusOf((2 * perUser) / middle, ERROR / comparisons) > wanted) low = middle;
    else high = middle;
  }
  return Math.max(0, Math.ceil(high) - first.exposed);
}

/** Whether the users are divided as the shares say: Pearson's χ². `expected` may come from several revisions of the shares. */
export function hasRatioMismatch(exposed: readonly number[], expected: readonly number[]): boolean {
  const statistic = exposed.reduce(
    (sum, count, i) => sum + (count - expected[i]!) ** 2 / Math.max(expected[i]!, 1e-9),
    0,
  );
  const tooFew = expected.some((count) => count < EXPECTED_MIN);
  return !tooFew && statistic > CHI_SQUARE[exposed.length - 2]!;
}

/** χ² is no approximation for fewer users. */
const EXPECTED_MIN = 5;
/**
 * The values that χ² of 1, 2, 3 and 4 degrees of freedom exceeds with probability .001, so a splitter that is not broken fails the check
 * once in a thousand experiments (as in Fabijan et al., Diagnosing sample ratio mismatch, 2019).
 */
const CHI_SQUARE = [10.8276, 13.8155, 16.2662, 18.4668];
