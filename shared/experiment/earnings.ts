/**
 * What a model earns, by its holdout. Users count once in each period of four weeks. Periods are not added up, because the lists of one
 * user in two periods are not independent.
 */
import { armCountOf, type ExposureCount } from "./counts.ts";
import type { Earnings } from "./holdout.ts";
import type { RunningExperiment } from "./running.ts";
import { type ArmCount, liftOf, rateOf } from "./verdict.ts";

const PERIOD_MS = 28 * 24 * 3_600_000;

export type HoldoutPeriod = {
  /** The salt of the counts of this period. */
  readonly salt: string;
  readonly fromMs: number;
  readonly endsMs: number;
};

type Started = Pick<RunningExperiment, "salt" | "started_at">;

function periodAt({ salt, started_at }: Started, index: number): HoldoutPeriod {
  const fromMs = Date.parse(started_at) + index * PERIOD_MS;
  return { salt: `${salt}-${index}`, fromMs, endsMs: fromMs + PERIOD_MS };
}

const indexAt = ({ started_at }: Started, nowMs: number) =>
  Math.max(0, Math.floor((nowMs - Date.parse(started_at)) / PERIOD_MS));

/** The period in which a list is counted. */
export const presentPeriod = (holdout: Started, nowMs: number): HoldoutPeriod =>
  periodAt(holdout, indexAt(holdout, nowMs));

/** The period that is reported: the last whole one, or the first one while it is not over. */
export const reportedPeriod = (holdout: Started, nowMs: number): HoldoutPeriod =>
  periodAt(holdout, Math.max(0, indexAt(holdout, nowMs) - 1));

/** The first arm of `running` is the holdout, and the second one the model. */
export function earningsOf(
  { arms }: Pick<RunningExperiment, "arms">,
  { fromMs, endsMs }: HoldoutPeriod,
  counts: readonly ExposureCount[],
): Earnings {
  const [holdout, model] = arms.map(({ name }) => {
    const own = counts.filter(({ arm }) => arm === name);
    return armCountOf(own, "reached");
  }) as [ArmCount, ArmCount];
  const lift = liftOf(holdout, model, 1) ?? null;
  const [without, with_] = [rateOf(holdout), rateOf(model)];
  return {
    from: new Date(fromMs).toISOString(),
    until: new Date(endsMs).toISOString(),
    holdout: { exposed: holdout.exposed, reached: holdout.reached, rate: without },
    model: { exposed: model.exposed, reached: model.reached, rate: with_ },
    lift,
    more_per_1000_users: lift && 1000 * (with_ - without),
    problem: null,
  };
}
