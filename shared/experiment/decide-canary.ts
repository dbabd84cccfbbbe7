/** What follows from the report on a canary. */

import { CANARY_STEP_MS, type ExposureCount } from "./counts.ts";
import { type ExperimentReport, experimentReport } from "./report.ts";
import type { RunningCanary } from "./running.ts";

export type CanaryDecision =
  | { readonly kind: "running" }
  | { readonly kind: "live" }
  | { readonly kind: "kept"; readonly reason: string };

export type JudgedCanary = { readonly report: ExperimentReport; readonly decision: CanaryDecision };

/**
 * A worse version is taken back at once. Any other one goes live when its time is over, also if nobody has got a list. Where the users are
 * not divided as they should be, nothing can be concluded, and one reason may be that the version fails for some of them.
 */
export function judgeCanary(canary: RunningCanary, counts: readonly ExposureCount[], nowMs: number): JudgedCanary {
  const report = experimentReport(canary, counts, nowMs, CANARY_STEP_MS);
  const isOver = nowMs >= Date.parse(canary.ends_at);
  if (report.verdict === "worse") return { report, decision: { kind: "kept", reason: worseReason(report) } };
  if (!isOver) return { report, decision: { kind: "running" } };
  if (report.verdict === "sample_ratio_mismatch")
    return { report, decision: { kind: "kept", reason: mismatchReason(report) } };
  return { report, decision: { kind: "live" } };
}

function worseReason({ arms, goal, guard }: ExperimentReport): string {
  const [, canary] = arms;
  const { lift, guard_lift } = canary!;
  const isGuard = (guard_lift?.high ?? 0) < 0;
  const worse = isGuard ? guard_lift! : lift!;
  const { type } = isGuard ? guard! : goal;
  return (
    `Of ${canary!.exposed} users with this version, fewer had the event ${type} than of those with the live one: ` +
    `${percent(worse.value)} (${percent(worse.low)} to ${percent(worse.high)}).`
  );
}

const mismatchReason = ({ arms }: ExperimentReport) =>
  `Users are not divided as the shares say: ${arms.map(({ name, exposed }) => `${exposed} ${name}`).join(", ")}. ` +
  "So nothing can be concluded. Find out why, before you activate this version.";

const percent = (value: number) => `${value > 0 ? "+" : ""}${(100 * value).toFixed(1)} %`;
