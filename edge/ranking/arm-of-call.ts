/** Which arms a rank call gets: of the model's experiment, and of the canary. */
import type { RankParameters } from "../../shared/api.ts";
import { CANARY_STEP_MS } from "../../shared/experiment/counts.ts";
import { armOf, type RunningArm, type RunningExperiment } from "../../shared/experiment/running.ts";
import type { LiveVersion } from "../versions/live-pointers.ts";

type Running = Pick<RunningExperiment, "salt" | "goal" | "guard" | "arms" | "revisions">;

/** The part that a call takes in an experiment. */
export type Part = {
  readonly experiment: Running;
  readonly arm: RunningArm;
  readonly unit: string;
  /** When the experiment ends by itself, in epoch milliseconds. */
  readonly endsMs?: number;
  /** How long the periods are by which its users are counted, in milliseconds. */
  readonly stepMs?: number;
};

/** What the arms of a call decide. */
export type Choice = { readonly parts: readonly Part[] } & Partial<
  Pick<RunningArm, "version" | "scenario" | "strategy" | "name">
>;

/**
 * The arms of a call. There are none if it is for similar items, or says neither who the user nor which the session is. A call that names
 * a scenario or a strategy itself takes no part in an experiment whose arms differ in theirs. Users whose arm has a version or a strategy
 * of its own take no part in the canary, which is about the live version.
 */
export function choiceOf(
  { experiment, canary }: Pick<LiveVersion, "experiment" | "canary">,
  sent: RankParameters,
): Choice {
  const unit = sent.userId ?? sent.sessionId;
  if (unit === undefined || sent.similarTo !== undefined) return { parts: [] };
  const ofExperiment = experiment && partIn(experiment, unit, sent);
  if (ofExperiment && hasOwnList(ofExperiment.arm)) return { parts: [ofExperiment], ...ofExperiment.arm };
  const ofCanary = canary && {
    ...partIn(canary, unit, sent),
    endsMs: Date.parse(canary.ends_at),
    stepMs: CANARY_STEP_MS,
  };
  const version = ofCanary?.arm?.version ?? null;
  const parts = [ofExperiment, ofCanary].filter((part): part is Part => part?.arm !== undefined);
  return { parts, ...(version && { name: ofCanary!.arm!.name }), ...ofExperiment?.arm, version };
}

const hasOwnList = ({ version, strategy }: RunningArm) => version !== null || strategy !== null;

function partIn(experiment: Running, unit: string, sent: RankParameters): Part | undefined {
  const isOwn = (name: "scenario" | "strategy") =>
    sent[name] !== undefined && experiment.arms.some((arm) => arm[name] !== null);
  const arm = isOwn("scenario") || isOwn("strategy") ? undefined : armOf(experiment, unit);
  return arm && { experiment, arm, unit };
}

/** The target with the version that is chosen, and all versions that serve now, none of which replaces another. */
export function targetOf(target: LiveVersion, { version }: Choice): LiveVersion {
  const { experiment, canary, live } = target;
  const arms = [experiment, canary].flatMap((running) => running?.arms ?? []);
  if (arms.length === 0) return target;
  const serving = new Set([live, ...arms.flatMap((arm) => arm.version ?? [])].map(({ version }) => version));
  return { ...target, live: version ?? live, serving };
}
