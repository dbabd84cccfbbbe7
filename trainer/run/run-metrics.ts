import type { EvaluationReport } from "../../shared/evaluation-report.ts";
import type { RunMetrics } from "./training-run.ts";

/**
 * The metrics that the model's record shows: means of the chosen model, and of popularity under `baseline`. Where users have
 * attributes, `user_attributes` has the same metrics for users whose history was hidden.
 */
export function runMetrics({ chosen, popularity, split, user_attributes: hidden }: EvaluationReport): RunMetrics {
  return {
    method: chosen.method,
    split: split.kind,
    users_measured: split.validation.users_measured,
    ...meansOf(chosen.metrics),
    baseline: meansOf(popularity.metrics),
    ...(hidden && {
      user_attributes: {
        served: hidden.served,
        users_hidden: hidden.users_hidden,
        ...meansOf(hidden.metrics),
        baseline: meansOf(hidden.popularity),
      },
    }),
  };
}

const meansOf = (metrics: EvaluationReport["chosen"]["metrics"]): Record<string, number> =>
  Object.fromEntries(
    Object.entries(metrics).flatMap(([name, { value }]) => (value === null ? [] : [[name, rounded(value)]])),
  );

const rounded = (value: number) => Math.round(value * 1e6) / 1e6;
