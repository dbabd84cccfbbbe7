import { type LivePointer, LivePointer as LivePointerSchema, type ModelStatus } from "../../shared/live-pointer.ts";
import { livePointerKey } from "../../shared/manifest.ts";
import { type ObjectStore, StoreError } from "./object-store.ts";
import { storedJson } from "./stored-json.ts";

/** Which model: every object of it lies under `models/{customer}/{modelName}/`. */
export type ModelRef = { readonly customer: string; readonly modelName: string };

const LOST_RACES_MAX = 20;

/**
 * The live pointer and its etag; undefined for a model that does not exist.
 *
 * @param damaged What an unreadable one is taken for; else it throws StoreError.
 */
export async function readLivePointer(
  store: ObjectStore,
  { customer, modelName }: ModelRef,
  damaged?: LivePointer,
): Promise<{ readonly pointer: LivePointer; readonly etag: string } | undefined> {
  const key = livePointerKey(customer, modelName);
  const found = await store.get(key);
  if (found === undefined) return undefined;
  const parsed = LivePointerSchema.safeParse(storedJson(found.bytes));
  const pointer = parsed.data ?? damaged;
  if (pointer === undefined)
    throw new StoreError(`${key} is not a live pointer of format 1; restore it, or delete it with the model.`);
  return { pointer, etag: found.etag };
}

/**
 * The pointer after a change, made only over the very pointer that `change` has seen: when somebody else was first,
 * `change` is asked again about what they wrote.
 *
 * @param change Gives the new pointer, or undefined to leave it. Asked with undefined when there is none. Whatever it waits for
 *   is known to have held at some time while the pointer was the one that it was given.
 */
export async function changeLivePointer(
  store: ObjectStore,
  model: ModelRef,
  change: (current: LivePointer | undefined) => LivePointer | undefined | Promise<LivePointer | undefined>,
  damaged?: LivePointer,
): Promise<LivePointer | undefined> {
  const key = livePointerKey(model.customer, model.modelName);
  for (let lost = 0; lost < LOST_RACES_MAX; lost++) {
    const found = await readLivePointer(store, model, damaged);
    const next = await change(found?.pointer);
    if (next === undefined) return found?.pointer;
    const bytes = new TextEncoder().encode(JSON.stringify(next));
    if ((await store.swap(key, bytes, found?.etag ?? null)) !== undefined) return next;
  }
  throw new StoreError(`${key} was changed by others ${LOST_RACES_MAX} times in a row.`, { retryable: true });
}

export type StatusChange = {
  readonly status: ModelStatus;
  readonly nowMs: number;
  /** Whether it is still to be said, asked once the pointer is read: what another model of the name has said since is not overwritten. */
  readonly isStill?: (() => Promise<boolean>) | undefined;
};

/**
 * The pointer with another status, made if it is absent; a tombstone only comes in place of a pointer. A model that has a live
 * version stays ACTIVE: nothing but deletion takes away what is served. A tombstone gives way, since it may be what is left of
 * an earlier model of that name: only who has seen the record of the model may say its status, and looks at it again afterwards.
 */
export function setStatus(
  store: ObjectStore,
  model: ModelRef,
  { status, nowMs, isStill }: StatusChange,
): Promise<LivePointer | undefined> {
  const pointer: LivePointer = { format: 1, status, live: null, updated_at: new Date(nowMs).toISOString() };
  const change = async (current: LivePointer | undefined) => {
    if (status === "DESTROYING" && current === undefined) return undefined;
    if (current?.status === status || (current?.live && status !== "DESTROYING")) return undefined;
    return isStill && !(await isStill()) ? undefined : pointer;
  };
  // A tombstone takes the place of whatever is there: else what cannot be read could not be deleted either.
  return changeLivePointer(store, model, change, status === "DESTROYING" ? { ...pointer, status: "ERROR" } : undefined);
}
