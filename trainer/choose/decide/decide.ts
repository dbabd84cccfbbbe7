import { seededRandom } from "../../learn/numerics/seeded-random.ts";
import { type Interval, type KeptDraws, mean } from "../evaluate/bootstrap.ts";
import { cutOffOf, type MetricAtK, timesShown } from "../evaluate/evaluate.ts";
import { type Evaluated, four, lift, signed, usersIn } from "../evaluate/evaluation-figures.ts";
import { coverage } from "../evaluate/metrics.ts";

export type DecideOptions = {
  readonly metric: MetricAtK;
  /** The coverage, at the metric's cut-off, below which a candidate is chosen only if no other is better than popularity. */
  readonly coverageMin?: number | undefined;
  readonly itemCount: number;
  /** Number of interactions in the training part. */
  readonly interactions: number;
  readonly seed: number;
};

export type Verdict = {
  /** Index of the chosen candidate; undefined when none is reliably better than popularity, which is then chosen. */
  readonly chosen: number | undefined;
  /** For each candidate its paired difference to popularity, and the reason why it was chosen or lost. */
  readonly lifts: readonly Interval[];
  readonly reasons: readonly string[];
  readonly warnings: readonly string[];
  /** A candidate that is nearly as good as the chosen one and shows many more items; undefined if there is none. */
  readonly broader?: Broader | undefined;
};

export type Broader = {
  readonly candidate: number;
  readonly coverage: { readonly own: number; readonly chosen: number };
  /** With this `coverage_min`, the candidate is chosen. */
  readonly coverageMin: number;
};

/** With fewer users two methods cannot be told apart, whatever the interval: a bootstrap of few users repeats their luck. */
export const USERS_MIN = 30;
/** With fewer interactions the confidence must be higher, and the report has a warning. */
export const INTERACTIONS_FEW = 1000;
const CONFIDENCE = 0.95;
const CONFIDENCE_FEW = 0.999;
/** A candidate with this fraction of the chosen one's value is nearly as good: validation lists hardly tell such candidates apart. */
const NEARLY_AS_GOOD = 0.99;
/** A candidate whose lists show this many times as many items as the chosen one's is worth a sentence in the report. */
const MUCH_BROADER = 1.5;

/**
 * Chooses the candidate with the best mean among those whose paired difference to popularity has a lower confidence bound above 0, or
 * popularity if there is none. With a floor on coverage, those that miss it least come first. All evaluations must be on the same cases.
 */
export function decide(candidates: readonly Evaluated[], popularity: Evaluated, options: DecideOptions): Verdict {
  const { metric, interactions, seed } = options;
  const users = usersIn(popularity.evaluation);
  // Bonferroni correction: among many candidates the luckiest looks reliable sooner than a single one.
  const corrected = 1 - (1 - CONFIDENCE) / Math.max(1, candidates.length);
  const confidence = interactions < INTERACTIONS_FEW ? Math.max(CONFIDENCE_FEW, corrected) : corrected;
  const kept: KeptDraws = [];
  const lifts = candidates.map(({ evaluation }) =>
    lift(evaluation, popularity.evaluation, { metric, seed, kept, confidence }),
  );
  const means = candidates.map(({ evaluation }) => mean(evaluation.values.get(metric)!));
  const { coverageMin = 0, itemCount } = options;
  const coverages = candidates.map(({ evaluation }) => coverage(timesShown(evaluation, itemCount, cutOffOf(metric))));
  const chosenWith = (floor: number) => {
    const missing = (of: number) => Math.max(0, floor - coverages[of]!);
    const isBetter = (i: number, than: number) =>
      missing(i) === missing(than) ? means[i]! > means[than]! : missing(i) < missing(than);
    let best: number | undefined;
    for (const [i, { low }] of lifts.entries())
      if (users >= USERS_MIN && low > 0 && (best === undefined || isBetter(i, best))) best = i;
    return best;
  };
  const chosen = chosenWith(coverageMin);
  const reasons = candidates.map((_, i) => {
    const shown = coverageMin > 0 ? `, coverage ${four(coverages[i]!)}` : "";
    const own = `${metric} ${four(means[i]!)}${shown} on ${users} users`;
    const over = `${signed(lifts[i]!.value)} to popularity (${signed(lifts[i]!.low)} to ${signed(lifts[i]!.high)})`;
    if (i === chosen) return `${own}, ${over}: the best`;
    if (users < USERS_MIN) return `${own}: too few users to tell it from popularity, at least ${USERS_MIN} are needed`;
    if (!(lifts[i]!.low > 0)) return `${own}, ${over}: not reliably better than popularity`;
    return `${own}, ${over}; the chosen has ${four(means[chosen!]!)}`;
  });
  const warnings = warningsOf(users, interactions);
  if (chosen !== undefined && coverages[chosen]! < coverageMin)
    warnings.push(`No method reaches the coverage ${coverageMin}: the chosen one shows the most items.`);
  const broader = chosen === undefined ? undefined : broaderThan(chosen, { means, coverages, chosenWith });
  return { chosen, lifts, reasons, warnings, broader };
}

type Compared = {
  readonly means: readonly number[];
  readonly coverages: readonly number[];
  /** The candidate that a floor on coverage chooses. */
  readonly chosenWith: (coverageMin: number) => number | undefined;
};

/** What a higher floor would choose, if it loses next to nothing and shows many more items. Floors have two digits. */
function broaderThan(chosen: number, { means, coverages, chosenWith }: Compared): Broader | undefined {
  const least = MUCH_BROADER * coverages[chosen]!;
  const reaching = chosenWith(least);
  if (reaching === undefined || coverages[reaching]! < least) return undefined;
  const coverageMin = Math.floor(100 * coverages[reaching]!) / 100;
  const candidate = chosenWith(coverageMin)!;
  if (candidate === chosen || means[candidate]! < NEARLY_AS_GOOD * means[chosen]!) return undefined;
  return { candidate, coverageMin, coverage: { own: coverages[candidate]!, chosen: coverages[chosen]! } };
}

/**
 * How much of the chosen mean is luck of the choice. That is the best mean on all users minus the mean that the same rule gets in a
 * five-fold cross-validation: it chooses on four folds of the users and is measured on the fifth. About 0 for few candidates.
 */
export function choiceOptimism(candidates: readonly Evaluated[], metric: MetricAtK, seed: number): number | null {
  const series = candidates.map(({ evaluation }) => evaluation.values.get(metric)!);
  const owners = candidates[0]?.evaluation.owners ?? new Uint32Array(0);
  const users = new Set(owners);
  if (series.length < 2 || users.size < FOLDS) return null;
  const random = seededRandom(seed, 37);
  const foldOf = new Map(Array.from(users, (user) => [user, Math.floor(random() * FOLDS)]));
  const fold = Uint8Array.from(owners, (user) => foldOf.get(user)!);
  let honest = 0;
  for (let held = 0; held < FOLDS; held++) {
    const isHeld = (list: number) => fold[list] === held;
    const best = bestOf(series.map((values) => mean(values.filter((_, list) => !isHeld(list)))));
    honest += series[best]!.reduce((sum, value, list) => sum + (isHeld(list) ? value : 0), 0);
  }
  return Math.max(...series.map(mean)) - honest / owners.length;
}

const FOLDS = 5;

function bestOf(means: readonly number[]): number {
  let best = 0;
  for (const [i, value] of means.entries()) if (value > means[best]!) best = i;
  return best;
}

function warningsOf(users: number, interactions: number): string[] {
  const warnings: string[] = [];
  if (interactions < INTERACTIONS_FEW) {
    warnings.push(
      `Only ${interactions} interactions: lists are by popularity unless another method is better beyond doubt.`,
    );
  }
  if (users < USERS_MIN) {
    const known = `Only ${users} ${users === 1 ? "user has" : "users have"} a choice that can be held out`;
    warnings.push(`${known}: at least ${USERS_MIN} are needed to choose anything but popularity.`);
  }
  return warnings;
}
