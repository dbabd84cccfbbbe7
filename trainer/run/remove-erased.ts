import { setTimeout as delay } from "node:timers/promises";
import type { ErasedUsers } from "../../shared/erased-users.ts";
import { reportKey } from "../../shared/manifest.ts";
import { timeOfVersion } from "../publish/build-version.ts";
import { withoutErased } from "../publish/without-erased.ts";
import { readLivePointer } from "../store/live-pointer-swap.ts";
import { publish } from "../store/publish.ts";
import { sweep } from "../store/sweep.ts";
import { readManifest } from "../store/versions.ts";
import type { Run } from "./run-steps.ts";

/** Time after which no edge uses the version before; an edge reads the live pointer every few seconds. */
const EDGES_REFRESH_MS = 60_000;

/**
 * Removes what the bucket has of users whose erasure is due. If the live version is older than that, it is replaced by a copy without
 * their records. All older versions are deleted, with their evaluation lists. This is done before the run reads anything, since the
 * run may be refused or fail.
 */
export async function removeErased(run: Run, erased: ErasedUsers | undefined): Promise<void> {
  const { job, deps, model } = run;
  const { dueMs } = job.erasure;
  if (dueMs === null || erased === undefined) return;
  const live = (await readLivePointer(deps.store, model))?.pointer.live;
  if (live && timeOfVersion(live.version) < dueMs) {
    if (!(await replaceLive(run, live.version, erased))) return;
    await delay(deps.edgesRefreshMs ?? EDGES_REFRESH_MS, undefined, { signal: deps.signal });
  }
  const { signal, ownsLease } = deps;
  await sweep(deps.store, model, { nowMs: deps.nowMs(), signal, mayDelete: ownsLease, spentBeforeMs: dueMs });
  deps.onErasedRemoved?.();
}

/** False when the version's user hashes have another salt. */
async function replaceLive({ job, deps, model }: Run, version: string, erased: ErasedUsers): Promise<boolean> {
  const { store, nowMs, signal, ownsLease } = deps;
  const manifest = (await readManifest(store, model, version))!;
  const { workDirectory } = job.settings;
  const built = await withoutErased(manifest, { store, erased, createdAtMs: nowMs(), workDirectory });
  if (built === undefined) return false;
  const report = await store.get(reportKey(model.customer, model.modelName, version));
  const bytes = report?.bytes ?? new TextEncoder().encode("null");
  await publish(built, bytes, { store, nowMs, signal, ownsLease, progress: () => undefined });
  return true;
}
