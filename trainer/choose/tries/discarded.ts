import { clipped } from "../../../shared/clipped.ts";
import type { Params } from "../../learn/model.ts";
import type { Evaluation, MetricAtK } from "../evaluate/evaluate.ts";
import { restrictedTo, usersIn } from "../evaluate/evaluation-figures.ts";
import type { Candidate } from "./candidate.ts";
import { meanOf, type Trial } from "./trial.ts";

/** Settings that are out of the race, with the reason and their figures if they have any. */
export type Discarded = {
  readonly method: string;
  readonly params: Params;
  readonly outcome: "dropped" | "left_out" | "failed";
  readonly reason: string;
  readonly trainFraction: number;
  readonly evaluation: Evaluation | null;
  readonly fitSeconds: number | null;
  readonly artifactBytes: number | null;
  readonly truncation: string;
};

/** Discarded settings without figures, with the reason. */
export const leftOut = ({ method, params }: Candidate, reason: string): Discarded => ({
  method: method.name,
  params,
  outcome: "left_out",
  reason,
  trainFraction: 1,
  evaluation: null,
  fitSeconds: null,
  artifactBytes: null,
  truncation: "",
});

/** Settings whose fit or evaluation failed. */
export const failed = (candidate: Candidate, error: unknown): Discarded => ({
  ...leftOut(candidate, clipped(`failed: ${error instanceof Error ? error.message : String(error)}`, 900)),
  outcome: "failed",
});

/** A trial that is out of the race, with its figure and the best trial's figure on the same cases. */
export function dropped(trial: Trial, best: Trial, metric: MetricAtK): Discarded {
  const same = restrictedTo(best.evaluation, trial.evaluation.positions);
  const [own, bestMean] = [meanOf(trial.evaluation, metric), meanOf(same, metric)];
  const where =
    trial.trainFraction < 1 ? ` after fitting on ${Math.round(100 * trial.trainFraction)} % of the users` : "";
  const other = trial.method.name === best.method.name ? "other settings of the same method" : best.method.name;
  return {
    ...leftOut(trial, ""),
    outcome: "dropped",
    reason: `${metric} ${own.toFixed(4)} on ${usersIn(trial.evaluation)} users, and ${bestMean.toFixed(4)} with ${other}${where}`,
    trainFraction: trial.trainFraction,
    evaluation: trial.evaluation,
    fitSeconds: trial.fitSeconds,
    artifactBytes: trial.artifactBytes,
    truncation: trial.served.exported.truncation,
  };
}
