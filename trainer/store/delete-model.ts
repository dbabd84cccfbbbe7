import { livePointerKey, prefixOf } from "../../shared/manifest.ts";
import { forEachAtOnce } from "./for-each-at-once.ts";
import { type ModelRef, setStatus } from "./live-pointer-swap.ts";
import { type ObjectStore, StoreError } from "./object-store.ts";

export type DeleteContext = {
  readonly nowMs: number;
  readonly signal: AbortSignal;
  readonly progress?: (deletedObjects: number) => void;
  /** Whether the model is still there, and not a new one of its name, asked before each deletion; absent: nobody else deletes. */
  readonly isThere?: () => Promise<boolean>;
};

const BATCH = 1000;
const ROUNDS_MAX = 20;

/** Puts the tombstone in place of the live pointer: from now on every edge answers as for an unknown model. */
export async function buryModel(
  store: ObjectStore,
  model: ModelRef,
  { nowMs, isThere }: Pick<DeleteContext, "nowMs" | "isThere">,
): Promise<void> {
  await setStatus(store, model, { status: "DESTROYING", nowMs, isStill: isThere });
}

/**
 * Removes every object of a model; the tombstone goes last. After a crash the same call finishes the work, and for a
 * model that is gone it does nothing. A deletion has no condition, so who slept while another finished the work, and the
 * name was given to a new model, finds out by asking.
 */
export async function deleteModel(store: ObjectStore, model: ModelRef, context: DeleteContext): Promise<void> {
  await buryModel(store, model, context);
  const tombstone = livePointerKey(model.customer, model.modelName);
  const remove = async (key: string) => {
    if (context.isThere && !(await context.isThere())) throw overtaken(model);
    await store.delete(key);
  };
  let deleted = 0;
  // A run that was stopped may have had a request under way, so what is there is asked for until nothing is.
  for (let round = 0; ; round++) {
    const before = deleted;
    let batch: string[] = [];
    const removeBatch = async () => {
      await forEachAtOnce(batch, remove, context.signal);
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
  await remove(tombstone);
}

const overtaken = ({ modelName }: ModelRef) =>
  new StoreError(`${JSON.stringify(modelName)} was removed by another trainer meanwhile.`);
