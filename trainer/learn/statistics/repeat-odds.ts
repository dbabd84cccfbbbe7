import { logSumExp } from "../../../shared/rank/chosen-or-new.ts";
import { PLACE_RANGES, type RepeatOdds } from "../../../shared/repeat-intervals.ts";
import { maximum, type Objective } from "../numerics/newton.ts";

/** What a user chose next: items that the user had chosen before, and others. */
export type RepeatOutcome = {
  /** The scores of all items that the user had chosen before (rank/chosen-again.ts), of which there is at least one. */
  readonly again: readonly number[];
  readonly repeated: number;
  /** The places of the others, from 1, in a list of new items; infinite where the list ended before. */
  readonly places: readonly number[];
};

/** With fewer choices of either kind, there are no odds. */
const CHOICES_MIN = 50;
/** The inclusive value of a nested logit counts less than fully. */
const USUAL: readonly number[] = [0, 0.7];
const PRECISION = 1;
/** Part of the users at either end of the range. */
const TAIL = 0.02;
/** Counts as so many choices of the items of each range of places. */
const PLACE_PRIOR = 0.5;

/** The odds of choosing again and of choosing something new. Undefined if there are too few choices of either. */
export function fitRepeatOdds(outcomes: readonly RepeatOutcome[]): RepeatOdds | undefined {
  const places = outcomes.flatMap((outcome) => outcome.places);
  const repeated = outcomes.reduce((sum, outcome) => sum + outcome.repeated, 0);
  if (Math.min(places.length, repeated) < CHOICES_MIN) return undefined;
  const counted = outcomes.map((outcome) => ({ ...outcome, inclusive: logSumExp(outcome.again) }));
  const [intercept, slope] = maximum((point) => likelihood(counted, point), USUAL) as [number, number];
  // A slope below 0 comes from users who repeat much and so have few items. By it, new users, who have few too, would repeat most.
  const byHistory = slope > 0 ? { intercept, slope } : { intercept: Math.log(repeated / places.length), slope: 0 };
  const sorted = Float64Array.from(counted, ({ inclusive }) => inclusive).sort();
  const quantile = (fraction: number) => sorted[Math.floor(fraction * (sorted.length - 1))]!;
  return { ...byHistory, range: [quantile(TAIL), quantile(1 - TAIL)], places: sharesOf(places) };
}

/** The logarithm of the likelihood of repeating, by logistic regression on the inclusive value, with a Gaussian prior. */
function likelihood(
  outcomes: readonly (RepeatOutcome & { readonly inclusive: number })[],
  point: readonly number[],
): Objective {
  const away = point.map((value, i) => value - USUAL[i]!);
  let value = (-PRECISION / 2) * (away[0]! ** 2 + away[1]! ** 2);
  const gradient = away.map((value) => -PRECISION * value);
  const curvature = [
    [PRECISION, 0],
    [0, PRECISION],
  ];
  for (const { inclusive, repeated, places } of outcomes) {
    const inputs = [1, inclusive];
    const odds = point[0]! + point[1]! * inclusive;
    const count = repeated + places.length;
    const probability = 1 / (1 + Math.exp(-odds));
    value += repeated * odds - count * softplus(odds);
    for (let i = 0; i < 2; i++) {
      gradient[i]! += (repeated - count * probability) * inputs[i]!;
      for (let j = 0; j < 2; j++)
        curvature[i]![j]! += count * probability * (1 - probability) * inputs[i]! * inputs[j]!;
    }
  }
  return { value, gradient, curvature };
}

/** ln (1 + exp x), for all x. */
const softplus = (x: number): number => Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));

type Block = { readonly sum: number; readonly width: number; readonly ranges: number };

/** By range of places (see RepeatOdds), the share of choices for each place in it. What would rise is joined with what is before it. */
function sharesOf(places: readonly number[]): number[] {
  const counts = new Array<number>(PLACE_RANGES).fill(PLACE_PRIOR);
  for (const place of places) {
    const range = Math.ceil(Math.log2(place));
    if (range < PLACE_RANGES) counts[range]!++;
  }
  const share = ({ sum, width }: Block) => sum / width;
  const blocks: Block[] = [];
  for (const [range, count] of counts.entries()) {
    let block: Block = { sum: count / places.length, width: range === 0 ? 1 : 2 ** (range - 1), ranges: 1 };
    for (let before = blocks.at(-1); before && share(before) < share(block); before = blocks.at(-1)) {
      blocks.pop();
      block = { sum: before.sum + block.sum, width: before.width + block.width, ranges: before.ranges + block.ranges };
    }
    blocks.push(block);
  }
  return blocks.flatMap((block) => new Array<number>(block.ranges).fill(share(block)));
}
