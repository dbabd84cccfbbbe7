/** What an experiment has shown so far. */
import { armCountOf, type ExposureCount } from "./counts.ts";
import type { RunningExperiment } from "./running.ts";
import {
  type ArmCount,
  type ArmVerdict,
  hasRatioMismatch,
  type Lift,
  liftOf,
  rateOf,
  usersToDetect,
  verdictOf,
} from "./verdict.ts";

type Verdict = ArmVerdict | "sample_ratio_mismatch";

const [MINUTE_MS, HOUR_MS, DAY_MS] = [60_000, 3_600_000, 86_400_000];

/** How long the periods of a report's history are, in milliseconds: the younger the experiment, the shorter. */
export function historyStepMs({ started_at }: Pick<RunningExperiment, "started_at">, nowMs: number): number {
  const ageMs = nowMs - Date.parse(started_at);
  if (ageMs < 3 * HOUR_MS) return MINUTE_MS;
  return ageMs < 7 * DAY_MS ? HOUR_MS : DAY_MS;
}

/** @param counts By periods of `stepMs`. */
export function experimentReport(
  running: RunningExperiment,
  counts: readonly ExposureCount[],
  nowMs: number,
  stepMs = historyStepMs(running, nowMs),
) {
  const { name, started_at, goal, guard, sample = 1, arms, revisions } = running;
  const comparisons = (arms.length - 1) * (guard ? 2 : 1);
  const of = (arm: string, lastFrom = Infinity) => countsOf(counts, arm, lastFrom);
  const first = of(arms[0]!.name);
  const isMismatch = hasRatioMismatch(...exposedAndExpected(running, counts));
  const shown = arms.map(({ name, version, scenario, strategy }, i) => {
    const { goal: goalCount, guard: guardCount } = of(name);
    const lift = i === 0 ? undefined : liftOf(first.goal, goalCount, comparisons);
    const guardLift = i === 0 || !guard ? undefined : liftOf(first.guard, guardCount, comparisons);
    return {
      name,
      share: revisions.at(-1)![name]!,
      version: version?.version ?? null,
      scenario,
      strategy,
      exposed: goalCount.exposed,
      reached: goalCount.reached,
      rate: rateOf(goalCount),
      ...(guard && { guard_reached: guardCount.reached, guard_rate: rateOf(guardCount) }),
      ...(i > 0 && { lift: lift ?? null, verdict: isMismatch ? "running" : verdictOf(lift, guardLift) }),
      ...(i > 0 && guard && { guard_lift: guardLift ?? null }),
    };
  });
  const verdicts = shown.slice(1).map(({ verdict }) => verdict as ArmVerdict);
  const periods = [...new Set(counts.map(({ from }) => from))].sort((a, b) => a - b);
  const removed = shown.map(({ lift }) => lift?.variance_removed ?? 0);
  const missing = usersToDetect(first.goal, comparisons, Math.max(...removed));
  const msSoFar = Math.max(MINUTE_MS, nowMs - Date.parse(started_at));
  const perDay = (first.goal.exposed * DAY_MS) / msSoFar;
  return {
    name,
    started_at,
    goal,
    guard,
    sample,
    verdict: isMismatch ? ("sample_ratio_mismatch" as const) : together(verdicts),
    sample_ratio_mismatch: isMismatch,
    arms: shown,
    users_to_detect_5_percent: missing,
    days_to_detect_5_percent: missing === null || perDay === 0 ? null : Math.ceil((100 * missing) / perDay) / 100,
    history: periods.map((from) => ({
      until: new Date(Math.min(from + stepMs, nowMs)).toISOString(),
      arms: arms.map(({ name }, i) => {
        const { goal: soFar } = of(name, from);
        const lift = i === 0 ? undefined : liftOf(of(arms[0]!.name, from).goal, soFar, comparisons);
        return {
          name,
          exposed: soFar.exposed,
          reached: soFar.reached,
          ...(i > 0 && { lift: lift ?? (null as Lift | null) }),
        };
      }),
    })),
  };
}
export type ExperimentReport = ReturnType<typeof experimentReport>;

/** One verdict for all arms: better as soon as one is, otherwise what all agree on. */
function together(verdicts: readonly ArmVerdict[]): Verdict {
  if (verdicts.includes("better")) return "better";
  return verdicts.every((verdict) => verdict === verdicts[0]) ? verdicts[0]! : "running";
}

function countsOf(
  counts: readonly ExposureCount[],
  arm: string,
  lastFrom: number,
): { goal: ArmCount; guard: ArmCount } {
  const own = counts.filter((count) => count.arm === arm && count.from <= lastFrom);
  return { goal: armCountOf(own, "reached"), guard: armCountOf(own, "guarded") };
}

/** The users of the present arms, and how many there should be by the shares of each revision. */
function exposedAndExpected(
  { arms, revisions }: RunningExperiment,
  counts: readonly ExposureCount[],
): [number[], number[]] {
  const names = arms.map(({ name }) => name);
  const exposed = names.map(() => 0);
  const expected = names.map(() => 0);
  for (const [revision, shares] of revisions.entries()) {
    const own = names.map((arm) =>
      counts.reduce((sum, one) => sum + (one.arm === arm && one.revision === revision ? one.exposed : 0), 0),
    );
    const total = own.reduce((sum, count) => sum + count, 0);
    const whole = names.reduce((sum, arm) => sum + (shares[arm] ?? 0), 0);
    for (const [i, arm] of names.entries()) {
      exposed[i]! += own[i]!;
      if (whole > 0) expected[i]! += (total * (shares[arm] ?? 0)) / whole;
    }
  }
  return [exposed, expected];
}
