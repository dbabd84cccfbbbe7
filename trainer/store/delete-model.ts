import { livePointerKey, prefixOf } from "../../shared/manifest.ts";
import { deleteObjects } from "./delete-objects.ts";
import { type ModelRef, setStatus } from "./live-pointer-swap.ts";
import { type ObjectStore, StoreError } from "./object-store.ts";

export type DeleteContext = {
  readonly nowMs: number;
  readonly signal: AbortSignal;
  /** False once the model's record is gone: another trainer has finished the deletion, and a new model may have the name. */
  readonly exists?: () => Promise<boolean>;
};

const ROUNDS_MAX = 20;

/** Replaces the live pointer by the tombstone: from now on every edge answers as for an unknown model. */
export async function writeTombstone(
  store: ObjectStore,
  model: ModelRef,
  { nowMs, exists }: Pick<DeleteContext, "nowMs" | "exists">,
): Promise<void> {
  await setStatus(store, model, { status: "DESTROYING", nowMs, mayWrite: exists });
}

/**
 * Deletes every object of a model, the tombstone last. After a crash the same call finishes the work. For a model that does not
 * exist it does nothing.
 */
export async function deleteModel(store: ObjectStore, model: ModelRef, context: DeleteContext): Promise<void> {
  const options = { signal: context.signal, mayDelete: context.exists };
  await writeTombstone(store, model, context);
  const tombstone = livePointerKey(model.customer, model.modelName);
  // A run that was just stopped may have an upload under way, so the list is read again until it is empty.
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const keys: string[] = [];
    for await (const { key } of store.list(prefixOf(model.customer, model.modelName)))
      if (key !== tombstone) keys.push(key);
    if (keys.length === 0) return deleteObjects(store, [tombstone], options);
    await deleteObjects(store, keys, options);
  }
  throw new StoreError(`Objects of ${JSON.stringify(model.modelName)} keep appearing while it is deleted.`, {
    retryable: true,
  });
}
