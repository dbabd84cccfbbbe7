/** The holdout in the live pointer. */
import { isDeepStrictEqual } from "node:util";
import type { Holdout } from "../../shared/experiment/holdout.ts";
import type { RunningExperiment } from "../../shared/experiment/running.ts";
import type { LivePointer } from "../../shared/live-pointer.ts";
import type { Live } from "../../shared/manifest.ts";
import { Problem } from "../../shared/problem.ts";
import { bucketsBeside } from "./control-buckets.ts";
import { type ModelRef, readLivePointer } from "./live-pointer-swap.ts";
import type { ObjectStore } from "./object-store.ts";
import { memoryFault, servingVersions } from "./serving-memory.ts";
import { activatable } from "./versions.ts";

type Begin = { readonly salt: string; readonly nowMs: number };

/** @param version Null: popular items. */
export function runningHoldout(
  { share, goal }: Holdout,
  version: Live | null,
  { salt, nowMs }: Begin,
): RunningExperiment {
  const { own, control, controlShare } = bucketsBeside(share);
  const arm = { version: null, scenario: null, strategy: null };
  return {
    ...{ name: "holdout", salt, goal, guard: null },
    started_at: new Date(nowMs).toISOString(),
    arms: [
      { ...arm, name: "holdout", buckets: own, version, strategy: version === null ? "popular" : null },
      { ...arm, name: "model", buckets: control },
    ],
    revisions: [{ holdout: share, model: controlShare }],
  };
}

/** Whether the holdout is what the setting says. */
export function isHoldoutOf(running: RunningExperiment | undefined, wanted: Holdout | undefined): boolean {
  if (running === undefined || wanted === undefined) return running === wanted;
  const [{ version }] = running.arms as [RunningExperiment["arms"][number]];
  const { share, goal } = wanted;
  return isDeepStrictEqual(
    [running.revisions[0]!.holdout, running.goal, version?.version],
    [share, goal, wanted.version],
  );
}

/**
 * The version that a holdout pins. Null: none. Throws Problem version_not_found; experiment_too_large if an edge cannot hold it beside the
 * others.
 */
export async function pinnedVersion(
  store: ObjectStore,
  model: ModelRef,
  holdout: Holdout,
  { pointer, nowMs, edgeMemoryBytes }: { pointer: LivePointer; nowMs: number; edgeMemoryBytes: number },
): Promise<Live | null> {
  if (holdout.version === undefined) return null;
  const { live } = await activatable(store, model, { version: holdout.version, current: pointer, nowMs });
  const changed = { ...pointer, holdout: runningHoldout(holdout, live, { salt: "-", nowMs }) };
  const fault = await memoryFault(store, model, servingVersions(changed), edgeMemoryBytes);
  if (fault !== undefined) throw new Problem("experiment_too_large", fault);
  return live;
}

/** Throws Problem version_not_found, experiment_too_large unless the model can have this holdout. */
export async function checkHoldout(
  store: ObjectStore,
  model: ModelRef,
  holdout: Holdout,
  limits: { readonly nowMs: number; readonly edgeMemoryBytes: number },
): Promise<void> {
  if (holdout.version === undefined) return;
  const pointer = (await readLivePointer(store, model))?.pointer;
  if (pointer?.live) return void (await pinnedVersion(store, model, holdout, { pointer, ...limits }));
  const detail = `The model ${JSON.stringify(model.modelName)} has no version yet that could be held out with.`;
  throw new Problem("version_not_found", detail);
}
