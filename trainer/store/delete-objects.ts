import { forEachAtOnce } from "./for-each-at-once.ts";
import { type ObjectStore, StoreError } from "./object-store.ts";

export type DeleteOptions = {
  readonly signal: AbortSignal;
  /**
   * Called before each deletion, because the store has no conditional one: a trainer that slept while another one took over
   * must delete nothing more. Absent: no other trainer can take over.
   */
  readonly mayDelete?: (() => Promise<boolean>) | undefined;
};

/** Deletes the objects. Throws StoreError when another trainer has taken over. */
export async function deleteObjects(
  store: ObjectStore,
  keys: readonly string[],
  { signal, mayDelete }: DeleteOptions,
): Promise<void> {
  const remove = async (key: string) => {
    if (mayDelete && !(await mayDelete()))
      throw new StoreError(`${key} was not deleted, because the work was taken over by another trainer.`);
    await store.delete(key);
  };
  await forEachAtOnce(keys, remove, signal);
}
