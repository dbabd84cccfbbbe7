import { errorForLog, type Log } from "../../log/log.ts";
import { deleteModel } from "../../store/delete-model.ts";
import type { ModelRef } from "../../store/live-pointer-swap.ts";
import type { ObjectStore } from "../../store/object-store.ts";
import type { ModelRegistry } from "../records/model-registry.ts";
import type { RunLedger } from "../records/run-ledger.ts";
import type { ModelFolders } from "../runs/model-folders.ts";
import type { PointerKeeper } from "../runs/reconcile-records.ts";
import { type Loop, repeat } from "./repeat.ts";

export type RemovalContext = {
  readonly registry: ModelRegistry;
  readonly ledger: RunLedger;
  readonly store: ObjectStore;
  readonly pointers: Pick<PointerKeeper, "whenReconciled">;
  readonly folders: ModelFolders;
  readonly nowMs: () => number;
  readonly signal: AbortSignal;
};

const RECONCILE_MS_MAX = 30_000;
const POLL_MS = 2000;
const BATCH = 100;

/** Removes the models whose status is DESTROYING, one after the other, as often as it takes. */
export function startRemovals(context: RemovalContext & { readonly log: Log }): Loop {
  const { registry, signal, log } = context;
  const removeAll = async () => {
    for (const model of await registry.destroying(BATCH)) {
      if (signal.aborted) return;
      const about = { customer: model.customer, model_name: model.modelName };
      try {
        if (await removeModel(model, context)) log({ event: "model_removed", level: "info", ...about });
      } catch (error) {
        log({ event: "removal_failed", level: "error", ...about, error: errorForLog(error) });
      }
    }
  };
  return repeat(removeAll, { pauseMs: POLL_MS, failureEvent: "removal_failed", log });
}

/**
 * Removes everything of a model that is being deleted. Its row goes last, so that after a crash at any point the same
 * call finishes the work. While a trainer still works on one of its runs, nothing is removed.
 *
 * @returns Whether the model is gone.
 */
export async function removeModel({ customer, modelName }: ModelRef, context: RemovalContext): Promise<boolean> {
  const { registry, ledger, store, pointers, folders, nowMs, signal } = context;
  const model = await registry.find(customer, modelName);
  if (model?.status !== "DESTROYING") return model === undefined;
  if (await ledger.isLeased(customer, modelName)) return false;
  // A status update that is still on its way would otherwise arrive after everything is gone.
  await pointers.whenReconciled({ customer, modelName }, RECONCILE_MS_MAX);
  const exists = () => registry.exists(model);
  await deleteModel(store, { customer, modelName }, { nowMs: nowMs(), signal, exists });
  await folders.removeModel(customer, modelName);
  await registry.remove(model);
  return true;
}
