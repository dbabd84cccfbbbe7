import type { CandidateReport } from "../../shared/evaluation-report.ts";

/**
 * The candidates of a report that some `coverage_min` would choose, the best first: reliably better than popularity, and no better one
 * shows as many items.
 */
export function frontierOf(candidates: readonly CandidateReport[], metric: string): CandidateReport[] {
  const coverage = ({ lists }: CandidateReport) => lists[`coverage@${metric.split("@")[1]}`] ?? 0;
  const value = ({ metrics }: CandidateReport) => metrics[metric]!.value!;
  const finalists = candidates
    .filter(({ outcome, lift }) => outcome === "chosen" || (outcome === "lost" && (lift?.low ?? 0) > 0))
    .sort((a, b) => value(b) - value(a));
  return finalists.filter((one, i) => finalists.slice(0, i).every((better) => coverage(better) < coverage(one)));
}
