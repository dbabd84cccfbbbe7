import type { EvaluationReport } from "../shared/evaluation-report.ts";
import type { RunMetrics } from "./training-run.ts";

/** The figures of the record: each metric's mean of the chosen model, popularity's under `baseline`. */
export function runMetrics({ chosen, popularity, split }: EvaluationReport): RunMetrics {
  return {
    method: chosen.method,
    split: split.kind,
    users_measured: split.validation.users_measured,
    ...meansOf(chosen.metrics),
    baseline: meansOf(popularity.metrics),
  };
}

const meansOf = (metrics: EvaluationReport["chosen"]["metrics"]): Record<string, number> =>
  Object.fromEntries(
    Object.entries(metrics).flatMap(([name, { value }]) => (value === null ? [] : [[name, rounded(value)]])),
  );

const rounded = (value: number) => Math.round(value * 1e6) / 1e6;
