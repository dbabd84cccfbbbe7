/** The running experiment of a model. It is part of the live pointer, so edges need no further read. */
import { isDeepStrictEqual } from "node:util";
import { divide } from "../../shared/experiment/buckets.ts";
import type { Experiment } from "../../shared/experiment/experiment.ts";
import {
  experimentNotFound,
  REVISIONS_MAX,
  type RunningArm,
  type RunningExperiment,
} from "../../shared/experiment/running.ts";
import type { LivePointer } from "../../shared/live-pointer.ts";
import { Problem } from "../../shared/problem.ts";
import { changeLivePointer, type ModelRef } from "./live-pointer-swap.ts";
import type { ObjectStore } from "./object-store.ts";
import { readScenario } from "./scenarios.ts";
import { memoryFault, servingVersions } from "./serving-memory.ts";
import { activatable, unknownModel } from "./versions.ts";

type Start = {
  readonly nowMs: number;
  /** The salt of a new experiment. A running one keeps its own. */
  readonly salt: string;
  /** Memory of an isolate for versions. */
  readonly edgeMemoryBytes: number;
  /** False once the model is deleted, also when a new one has its name. */
  readonly exists: () => Promise<boolean>;
};

/**
 * Begins an experiment, or changes the shares of the one that runs under this name. Users stay in their arms as far as the shares allow.
 *
 * Throws Problem model_not_active, experiment_running, version_not_found, scenario_not_found, experiment_too_large.
 */
export async function putExperiment(
  store: ObjectStore,
  model: ModelRef,
  experiment: Experiment,
  start: Start,
): Promise<RunningExperiment> {
  let running: RunningExperiment | undefined;
  await changeLivePointer(store, model, async (current) => {
    const pointer = await requireLive(current, model, start);
    const arms = await Promise.all(experiment.arms.map((arm) => armOf(store, model, arm, { pointer, ...start })));
    running = next(pointer.experiment, { experiment, arms, ...start });
    const changed = { ...pointer, experiment: running, updated_at: new Date(start.nowMs).toISOString() };
    const fault = await memoryFault(store, model, servingVersions(changed), start.edgeMemoryBytes);
    if (fault !== undefined) throw new Problem("experiment_too_large", fault);
    return changed;
  });
  return running!;
}

/**
 * Ends the experiment, and makes the scenario of an arm that is kept the one of calls that name none.
 *
 * Throws Problem experiment_not_found, invalid_parameter.
 *
 * @returns The arm that is kept. Its version is not activated yet.
 */
export async function endExperiment(
  store: ObjectStore,
  model: ModelRef,
  keep: string | undefined,
  { nowMs, exists }: Pick<Start, "nowMs" | "exists">,
): Promise<RunningArm | undefined> {
  let kept: RunningArm | undefined;
  await changeLivePointer(store, model, async (current) => {
    const { experiment, ...pointer } = await requireLive(current, model, { exists });
    if (experiment === undefined) throw experimentNotFound(model.modelName);
    kept = experiment.arms.find(({ name }) => name === keep);
    if (keep !== undefined && kept === undefined)
      throw cannotKeep(`must be an arm of the experiment: ${armNames(experiment)}`);
    if (kept?.strategy)
      throw cannotKeep("must be an arm without a strategy: popular items cannot take the model's place");
    const scenario = kept === undefined ? pointer.default_scenario : (kept.scenario ?? undefined);
    const { default_scenario: _, ...rest } = pointer;
    const updated_at = new Date(nowMs).toISOString();
    return { ...rest, ...(scenario !== undefined && { default_scenario: scenario }), updated_at };
  });
  return kept;
}

const armNames = ({ arms }: RunningExperiment) => arms.map(({ name }) => JSON.stringify(name)).join(", ");

type ActivePointer = LivePointer & { readonly live: NonNullable<LivePointer["live"]> };

async function requireLive(
  current: LivePointer | undefined,
  model: ModelRef,
  { exists }: Pick<Start, "exists">,
): Promise<ActivePointer> {
  if (current === undefined || current.status === "DESTROYING" || !(await exists())) throw unknownModel(model);
  if (current.status === "ACTIVE" && current.live !== null) return current as ActivePointer;
  const detail = `The model ${model.modelName} has no version yet, so there is nothing to compare.`;
  throw new Problem("model_not_active", detail, { retryAfterSeconds: 15 });
}

type NewArm = Omit<RunningArm, "buckets">;

/** Throws Problem version_not_found, scenario_not_found. */
async function armOf(
  store: ObjectStore,
  model: ModelRef,
  { name, version, scenario, strategy }: Experiment["arms"][number],
  { pointer, nowMs }: { readonly pointer: ActivePointer; readonly nowMs: number },
): Promise<NewArm> {
  if (scenario !== undefined) await readScenario(store, model, scenario);
  const stored =
    version === undefined ? null : (await activatable(store, model, { version, current: pointer, nowMs })).live;
  return { name, version: stored, scenario: scenario ?? null, strategy: strategy ?? null };
}

type Next = {
  readonly experiment: Experiment;
  readonly arms: readonly NewArm[];
  readonly salt: string;
  readonly nowMs: number;
};

/** Throws Problem experiment_running. */
function next(before: RunningExperiment | undefined, { experiment, arms, salt, nowMs }: Next): RunningExperiment {
  const { name, goal, guard = null, sample } = experiment;
  const shares = experiment.arms.map(({ share }) => share);
  const named = Object.fromEntries(experiment.arms.map((arm) => [arm.name, arm.share]));
  if (before === undefined) {
    const buckets = divide(shares, []);
    const whole = arms.map((arm, i) => ({ ...arm, buckets: buckets[i]! }));
    return {
      name,
      salt,
      started_at: new Date(nowMs).toISOString(),
      goal,
      guard,
      sample,
      arms: whole,
      revisions: [named],
    };
  }
  if (before.name !== name) throw isRunning(`The experiment ${JSON.stringify(before.name)} is running`);
  if (
    !isDeepStrictEqual([before.goal, before.guard, before.sample], [goal, guard, sample]) ||
    before.arms[0]!.name !== arms[0]!.name
  )
    throw isRunning("Goal, guard, sample and first arm of a running experiment stay as they are");
  const formerOf = (arm: NewArm) => before.arms.find((former) => former.name === arm.name);
  for (const arm of arms) {
    const { buckets: _, ...former } = formerOf(arm) ?? { ...arm, buckets: [] };
    if (!isDeepStrictEqual(former, arm))
      throw isRunning(
        `The arm ${JSON.stringify(arm.name)} of a running experiment stays as it is, or gets another name`,
      );
  }
  const isGone = ({ name }: NewArm) => before.revisions.some((shares) => name in shares);
  for (const arm of arms)
    if (isGone(arm) && !formerOf(arm))
      throw isRunning(
        `The arm ${JSON.stringify(arm.name)} was removed, and its users count by that name: choose another`,
      );
  if (before.revisions.length >= REVISIONS_MAX) throw isRunning(`Shares can be changed ${REVISIONS_MAX - 1} times`);
  const buckets = divide(
    shares,
    arms.map((arm) => formerOf(arm)?.buckets ?? []),
  );
  return {
    ...before,
    arms: arms.map((arm, i) => ({ ...arm, buckets: buckets[i]! })),
    revisions: [...before.revisions, named],
  };
}

const isRunning = (reason: string) => new Problem("experiment_running", `${reason}.`);

const cannotKeep = (message: string) =>
  new Problem("invalid_parameter", `/keep ${message}.`, {
    errors: [{ pointer: "/keep", code: "invalid_parameter", message }],
  });
