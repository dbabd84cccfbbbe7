/** Which arms a rank call gets: of the holdout, of the model's experiment, and of the canary. */
import type { RankParameters } from "../../shared/api.ts";
import { CANARY_STEP_MS, HOLDOUT_STEP_MS } from "../../shared/experiment/counts.ts";
import { presentPeriod } from "../../shared/experiment/earnings.ts";
import { armOf, type RunningArm, type RunningExperiment } from "../../shared/experiment/running.ts";
import type { LiveVersion } from "../versions/live-pointers.ts";

type Running = Pick<RunningExperiment, "salt" | "goal" | "guard" | "sample" | "arms" | "revisions">;

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

type Plan = Pick<LiveVersion, "experiment" | "canary" | "holdout">;

/**
 * The arms of a call. There are none if it is for similar items, or says neither who the user nor which the session is. A call that names
 * a scenario or a strategy itself takes no part in an experiment whose arms differ in theirs. Users who are held out take no other part.
 * Users whose arm of the experiment has a version or a strategy of its own take no part in the canary, which is about the live version.
 */
export function choiceOf({ experiment, canary, holdout }: Plan, sent: RankParameters, nowMs: number): Choice {
  const unit = sent.userId ?? sent.sessionId;
  if (unit === undefined || sent.similarTo !== undefined) return { parts: [] };
  const parts: Part[] = [];
  const join = (running: Running | undefined, ending: () => Partial<Part> = () => ({})) => {
    const arm = running && armFor(running, unit, sent);
    if (arm) parts.push({ experiment: running, arm, unit, ...ending() });
    return arm;
  };
  const ofHoldout = join(holdout, () => {
    const { salt, endsMs } = presentPeriod(holdout!, nowMs);
    return { experiment: { ...holdout!, salt }, endsMs, stepMs: HOLDOUT_STEP_MS };
  });
  if (ofHoldout && hasOwnList(ofHoldout)) return { parts, ...ofHoldout };
  const ofExperiment = join(experiment);
  if (ofExperiment && hasOwnList(ofExperiment)) return { parts, ...ofExperiment };
  const ofCanary = join(canary, () => ({ endsMs: Date.parse(canary!.ends_at), stepMs: CANARY_STEP_MS }));
  const version = ofCanary?.version ?? null;
  return { parts, ...(version && { name: ofCanary!.name }), ...ofExperiment, version };
}

const hasOwnList = ({ version, strategy }: RunningArm) => version !== null || strategy !== null;

function armFor(running: Running, unit: string, sent: RankParameters): RunningArm | undefined {
  const isOwn = (name: "scenario" | "strategy") =>
    sent[name] !== undefined && running.arms.some((arm) => arm[name] !== null);
  return isOwn("scenario") || isOwn("strategy") ? undefined : armOf(running, unit);
}

/** The target with the version that is chosen, and all versions that serve now, none of which replaces another. */
export function targetOf(target: LiveVersion, { version }: Choice): LiveVersion {
  const { experiment, canary, holdout, live } = target;
  const arms = [experiment, canary, holdout].flatMap((running) => running?.arms ?? []);
  if (arms.length === 0) return target;
  const serving = new Set([live, ...arms.flatMap((arm) => arm.version ?? [])].map(({ version }) => version));
  const standIn = version && version.version !== live.version ? live.version : undefined;
  return { ...target, live: version ?? live, serving, standIn };
}
