/** What a run reads from the bucket: the customer's erased users and the model's live version. */
import type { ErasedUsers } from "../../shared/erased-users.ts";
import { EvaluationReport } from "../../shared/evaluation-report.ts";
import { reportKey } from "../../shared/manifest.ts";
import { timeOfVersion } from "../publish/build-version.ts";
import { StageError } from "../stage/stage-error.ts";
import { readErasedUsers } from "../store/erased-list.ts";
import { type ModelRef, readLivePointer } from "../store/live-pointer-swap.ts";
import { type ObjectStore, StoreError, storedJson } from "../store/object-store.ts";

/** The users to leave out. Throws StageError `store_unavailable`, because without this list nothing may be learnt. */
export async function erasedUsers(store: ObjectStore, customer: string): Promise<ErasedUsers | undefined> {
  try {
    return await readErasedUsers(store, customer);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    throw new StageError("fetching", "store_unavailable", error.message, { cause: error, retryable: error.retryable });
  }
}

/** The evaluation report of the live version; undefined when there is none, or it is damaged or of an unknown format. */
export async function liveReport(store: ObjectStore, model: ModelRef): Promise<EvaluationReport | undefined> {
  const live = (await readLivePointer(store, model))?.pointer.live;
  if (!live) return undefined;
  const found = await store.get(reportKey(model.customer, model.modelName, live.version));
  return found && EvaluationReport.safeParse(storedJson(found.bytes)).data;
}

/**
 * The creation time of a new version: now, or just after the live version where that was made by a clock ahead of this one.
 * Versions are named by their time and sort by it, so an earlier time would make this version look older than the live one.
 */
export async function creationMs(store: ObjectStore, model: ModelRef, nowMs: number): Promise<number> {
  const live = (await readLivePointer(store, model))?.pointer.live;
  const liveMs = live ? timeOfVersion(live.version) : Number.NaN;
  return liveMs > nowMs ? liveMs + 1 : nowMs;
}
