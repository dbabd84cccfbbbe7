import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import {
  type LivePointer,
  LivePointer as LivePointerSchema,
  type ModelStatus,
  POINTER_WITH_MANIFEST_BYTES_MAX,
} from "../../shared/live-pointer.ts";
import { livePointerKey, manifestKey } from "../../shared/manifest.ts";
import { changeObject, type ObjectStore, StoreError, storedJson } from "./object-store.ts";

/** Identifies a model. All its objects lie under `models/{customer}/{modelName}/`. */
export type ModelRef = { readonly customer: string; readonly modelName: string };

/** The live pointer and its etag; undefined for a model that does not exist. Throws StoreError when it cannot be parsed. */
export async function readLivePointer(
  store: ObjectStore,
  { customer, modelName }: ModelRef,
): Promise<{ readonly pointer: LivePointer; readonly etag: string } | undefined> {
  const key = livePointerKey(customer, modelName);
  const found = await store.get(key);
  return found && { pointer: parsePointer(key, found.bytes), etag: found.etag };
}

/** @param damaged Replaces a pointer that cannot be parsed. Absent: throws StoreError. */
function parsePointer(key: string, bytes: Uint8Array, damaged?: LivePointer): LivePointer {
  const pointer = LivePointerSchema.safeParse(storedJson(bytes)).data ?? damaged;
  if (pointer !== undefined) return pointer;
  throw new StoreError(`${key} is not a live pointer of format 1; restore it, or delete it with the model.`);
}

/**
 * Changes the pointer and returns it. It is written with the manifest of its live version. The swap succeeds only over the pointer
 * that `change` was called with; when another writer was faster, `change` is called again with what that one wrote.
 *
 * @param change Returns the new pointer, or undefined to leave it. Called with undefined when there is no pointer. A condition that
 *   it awaits was true while the pointer had the given value.
 */
export async function changeLivePointer(
  store: ObjectStore,
  model: ModelRef,
  change: (current: LivePointer | undefined) => LivePointer | undefined | Promise<LivePointer | undefined>,
  damaged?: LivePointer,
): Promise<LivePointer | undefined> {
  const key = livePointerKey(model.customer, model.modelName);
  let pointer: LivePointer | undefined;
  await changeObject(store, key, async (found) => {
    const current = found && parsePointer(key, found.bytes, damaged);
    const next = await change(current);
    const written = next && (await withManifest(store, model, next));
    pointer = written ?? current;
    return written && bytesOf(written);
  });
  return pointer;
}

/** The pointer with the manifest of its live version, unless it would be too large with it. */
async function withManifest(store: ObjectStore, model: ModelRef, pointer: LivePointer): Promise<LivePointer> {
  const { manifest_json: before, ...bare } = pointer;
  const { live } = bare;
  if (live === null || live.manifest.size > POINTER_WITH_MANIFEST_BYTES_MAX) return bare;
  const isRight = before !== undefined && digestOf(before) === live.manifest.digest;
  const json = isRight ? before : await manifestText(store, manifestKey(model.customer, model.modelName, live.version));
  if (json === undefined || digestOf(json) !== live.manifest.digest) return bare;
  const whole = { ...bare, manifest_json: json };
  return bytesOf(whole).length <= POINTER_WITH_MANIFEST_BYTES_MAX ? whole : bare;
}

async function manifestText(store: ObjectStore, key: string): Promise<string | undefined> {
  const found = await store.get(key, { offset: 0, length: POINTER_WITH_MANIFEST_BYTES_MAX });
  return found && new TextDecoder().decode(found.bytes);
}

const bytesOf = (pointer: LivePointer) => new TextEncoder().encode(JSON.stringify(pointer));
const digestOf = (text: string) => `sha256:${createHash("sha256").update(text).digest("hex")}`;

export type StatusChange = {
  readonly status: ModelStatus;
  /** What events mean to the model, if an edge is to rank by them before the first version. */
  readonly events?: LivePointer["events"];
  readonly nowMs: number;
  /** Called after the pointer was read. False leaves the pointer: a new model with the same name may have written it. */
  readonly mayWrite?: (() => Promise<boolean>) | undefined;
};

/**
 * Sets the pointer's status, and makes the pointer if it is absent; a tombstone is only written over a pointer. A model with a live
 * version stays ACTIVE until it is deleted. A tombstone is overwritten, since it may be left from an earlier model with that name.
 * So a caller must have read the model's record before, and check it again afterwards.
 */
export function setStatus(
  store: ObjectStore,
  model: ModelRef,
  { status, events, nowMs, mayWrite }: StatusChange,
): Promise<LivePointer | undefined> {
  const pointer: LivePointer = { format: 1, status, live: null, events, updated_at: new Date(nowMs).toISOString() };
  const change = async (current: LivePointer | undefined) => {
    if (status === "DESTROYING" && current === undefined) return undefined;
    const isUpToDate = current?.status === status && isDeepStrictEqual(current.events, events);
    if (isUpToDate || (current?.live && status !== "DESTROYING")) return undefined;
    return mayWrite && !(await mayWrite()) ? undefined : pointer;
  };
  // A tombstone also replaces a pointer that cannot be parsed, so that its model can be deleted.
  return changeLivePointer(store, model, change, status === "DESTROYING" ? { ...pointer, status: "ERROR" } : undefined);
}
