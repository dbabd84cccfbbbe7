import { livePointerKey, prefixOf } from "../../shared/manifest.ts";
import { forEachAtOnce } from "./for-each-at-once.ts";
import { type ModelRef, setStatus } from "./live-pointer-swap.ts";
import { type ObjectStore, StoreError } from "./object-store.ts";

export type DeleteContext = {
  readonly nowMs: number;
  readonly signal: AbortSignal;
  readonly progress?: (deletedObjects: number) => void;
};

const BATCH = 1000;
const ROUNDS_MAX = 20;

/** Puts the tombstone in place of the live pointer: from now on every edge answers as for an unknown model. */
export async function buryModel(store: ObjectStore, model: ModelRef, nowMs: number): Promise<void> {
  await setStatus(store, model, { status: "DESTROYING", nowMs });
}

/**
 * Removes every object of a model; the tombstone goes last. After a crash the same call finishes the work, and for a
 * model that is gone it does nothing.
 */
export async function deleteModel(store: ObjectStore, model: ModelRef, context: DeleteContext): Promise<void> {
  await buryModel(store, model, context.nowMs);
  const tombstone = livePointerKey(model.customer, model.modelName);
  let deleted = 0;
  // A run that was stopped may have had a request under way, so what is there is asked for until nothing is.
  for (let round = 0; ; round++) {
    const before = deleted;
    let batch: string[] = [];
    const removeBatch = async () => {
      await forEachAtOnce(batch, (key) => store.delete(key), context.signal);
      deleted += batch.length;
      batch = [];
      context.progress?.(deleted);
    };
    for await (const { key } of store.list(prefixOf(model.customer, model.modelName))) {
      if (key !== tombstone) batch.push(key);
      if (batch.length === BATCH) await removeBatch();
    }
    await removeBatch();
    if (deleted === before) break;
    if (round >= ROUNDS_MAX)
      throw new StoreError(`Objects of ${JSON.stringify(model.modelName)} keep appearing while it is deleted.`, {
        retryable: true,
      });
  }
  await store.delete(tombstone);
}
