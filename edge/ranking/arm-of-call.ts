/** Which arm of the model's experiment a rank call gets. */
import type { RankParameters } from "../../shared/api.ts";
import { armOf, type RunningArm, type RunningExperiment } from "../../shared/experiment/running.ts";
import type { LiveVersion } from "../versions/live-pointers.ts";

/** The part that a call takes in an experiment. */
export type Part = { readonly experiment: RunningExperiment; readonly arm: RunningArm; readonly unit: string };

/**
 * Undefined if the call takes no part: it is for similar items, says neither who the user nor which the session is, or names a scenario
 * or a strategy itself although the arms differ in theirs.
 */
export function partOf({ experiment }: Pick<LiveVersion, "experiment">, sent: RankParameters): Part | undefined {
  const unit = sent.userId ?? sent.sessionId;
  if (experiment === undefined || unit === undefined || sent.similarTo !== undefined) return undefined;
  const isOwn = (name: "scenario" | "strategy") =>
    sent[name] !== undefined && experiment.arms.some((arm) => arm[name] !== null);
  if (isOwn("scenario") || isOwn("strategy")) return undefined;
  return { experiment, arm: armOf(experiment, unit), unit };
}

/** The target with the arm's version, and all versions that serve now, none of which replaces another. */
export function targetOf(target: LiveVersion, part: Part | undefined): LiveVersion {
  const { experiment, live } = target;
  if (experiment === undefined) return target;
  const serving = new Set(
    [live, ...experiment.arms.flatMap(({ version }) => version ?? [])].map(({ version }) => version),
  );
  return { ...target, live: part?.arm.version ?? live, serving };
}
