import { deleteModel } from "../../store/delete-model.ts";
import type { ModelRef } from "../../store/live-pointer-swap.ts";
import type { ObjectStore } from "../../store/object-store.ts";
import type { ModelRegistry } from "../records/model-registry.ts";
import type { RunLedger } from "../records/run-ledger.ts";
import type { ModelFolders } from "../runs/model-folders.ts";
import type { PointerKeeper } from "../runs/pointer-keeper.ts";

export type RemovalContext = {
  readonly registry: ModelRegistry;
  readonly ledger: RunLedger;
  readonly store: ObjectStore;
  readonly pointers: Pick<PointerKeeper, "settled">;
  readonly folders: ModelFolders;
  readonly nowMs: () => number;
  readonly signal: AbortSignal;
};

const SETTLE_MS_MAX = 30_000;

/**
 * Removes everything of a model that is being deleted; its row goes last, so that after a crash at any point the same
 * call goes on. While a trainer still works on a run of it, nothing is removed.
 *
 * @returns Whether the model is gone.
 */
export async function removeModel({ customer, modelName }: ModelRef, context: RemovalContext): Promise<boolean> {
  const { registry, ledger, store, pointers, folders, nowMs, signal } = context;
  const model = await registry.find(customer, modelName);
  if (model?.status !== "DESTROYING") return model === undefined;
  if (await ledger.isHeld(customer, modelName)) return false;
  // A status that was on its way when the deletion was asked for would arrive after everything is gone.
  await pointers.settled({ customer, modelName }, SETTLE_MS_MAX);
  const isThere = () => registry.isThere(model);
  await deleteModel(store, { customer, modelName }, { nowMs: nowMs(), signal, isThere });
  await folders.removeModel(customer, modelName);
  await registry.remove(model);
  return true;
}
