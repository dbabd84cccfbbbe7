import type { EvaluationReport } from "../../shared/evaluation-report.ts";
import type { RunMetrics } from "./training-run.ts";

/**
 * The figures of the record: each metric's mean of the chosen model, popularity's under `baseline`; where users have attributes, the
 * same of users whose history was hidden.
 */
export function runMetrics({ chosen, popularity, split, user_attributes: byValues }: EvaluationReport): RunMetrics {
  return {
    method: chosen.method,
    split: split.kind,
    users_measured: split.validation.users_measured,
    ...meansOf(chosen.metrics),
    baseline: meansOf(popularity.metrics),
    ...(byValues && {
      user_attributes: {
        served: byValues.served,
        users_hidden: byValues.users_hidden,
        ...meansOf(byValues.metrics),
        baseline: meansOf(byValues.popularity),
      },
    }),
  };
}

const meansOf = (metrics: EvaluationReport["chosen"]["metrics"]): Record<string, number> =>
  Object.fromEntries(
    Object.entries(metrics).flatMap(([name, { value }]) => (value === null ? [] : [[name, rounded(value)]])),
  );

const rounded = (value: number) => Math.round(value * 1e6) / 1e6;
