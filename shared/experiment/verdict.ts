/**
 * Which arm of an experiment is better. The intervals hold at all times together, so one may look every day and stop at the first verdict.
 *
 * The lift is the ratio of two rates, judged on the logarithm, whose variance comes from the delta method. Its interval is the
 * normal-mixture confidence sequence of Robbins (1970) as in Johari, Pekelis and Walsh (Always valid inference, 2017), with asymptotic
 * coverage as in Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas (2021).
 */

/** Users of one arm: how many saw a list, and how many of these then reached the goal. */
export type ArmCount = { readonly exposed: number; readonly reached: number };

export type Lift = {
  /** Relative: .05 is five per cent more users than in the first arm. */
  readonly value: number;
  readonly low: number;
  readonly high: number;
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
  const log = Math.log(rateOf(arm) / rateOf(first));
  const radius = radiusOf(varianceOf(first) + varianceOf(arm), ERROR / comparisons);
  return { value: Math.exp(log) - 1, low: Math.exp(log - radius) - 1, high: Math.exp(log + radius) - 1 };
}

export const rateOf = ({ exposed, reached }: ArmCount): number => (exposed === 0 ? 0 : reached / exposed);

/** Variance of the logarithm of a rate. */
const varianceOf = ({ exposed, reached }: ArmCount) => 1 / reached - 1 / exposed;

/** Half the width of the confidence sequence of a normal mean whose estimate has this variance. */
function radiusOf(variance: number, error: number): number {
  const sum = variance + PRIOR ** 2;
  return Math.sqrt((variance * sum * Math.log(sum / (variance * error ** 2))) / PRIOR ** 2);
}

/** @param guard The lift of what must not get worse; undefined also without a guard. */
export function verdictOf(lift: Lift | undefined, guard: Lift | undefined): ArmVerdict {
  if (guard && guard.high < 0) return "worse";
  if (lift === undefined) return "running";
  if (lift.low > 0) return "better";
  if (lift.high < 0) return "worse";
  return lift.low > -SMALL && lift.high < SMALL ? "no_difference" : "running";
}

/** How many more users each arm needs until a lift of 5 % is detected, if the rate stays; null without enough users to know the rate. */
export function usersToDetect(first: ArmCount, comparisons: number): number | null {
  if (first.reached < REACHED_MIN) return null;
  const perUser = (1 - rateOf(first)) / rateOf(first);
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
