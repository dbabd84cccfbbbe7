/** The extension of a model's live version, which scores new items. It is part of the live pointer, so edges need no further read. */
import { isDeepStrictEqual } from "node:util";
import { extensionKey, extensionPrefix } from "../../shared/items/extension-file.ts";
import type { LivePointer } from "../../shared/live-pointer.ts";
import { changeLivePointer, type ModelRef } from "./live-pointer-swap.ts";
import type { ObjectStore } from "./object-store.ts";
import { describe } from "./version-files.ts";

/** How long a replaced extension stays: an edge may have read the pointer that names it. */
const KEPT_MS = 10 * 60_000;
const MEDIA_TYPE = "application/vnd.shortlist.extension";

/**
 * Makes this the extension of a version, if the version is still live. Its file is stored before the pointer names it, and older files
 * are deleted after a while.
 *
 * @param bytes Undefined: the version scores no new items.
 */
export async function putExtension(
  store: ObjectStore,
  model: ModelRef,
  {
    version,
    bytes,
    nowMs,
  }: { readonly version: string; readonly bytes: Uint8Array | undefined; readonly nowMs: number },
): Promise<void> {
  const extension = bytes && { version, file: await describe(bytes, MEDIA_TYPE) };
  if (extension)
    await store.putIfAbsent(extensionKey(model.customer, model.modelName, extension.file), bytes, MEDIA_TYPE);
  const pointer = await changeLivePointer(store, model, (current) => {
    if (current?.status !== "ACTIVE" || current.live?.version !== version) return undefined;
    const { extension: before, ...rest } = current;
    if (isDeepStrictEqual(before, extension)) return undefined;
    return { ...rest, ...(extension && { extension }), updated_at: new Date(nowMs).toISOString() };
  });
  await deleteOld(store, model, pointer, nowMs);
}

async function deleteOld(store: ObjectStore, model: ModelRef, pointer: LivePointer | undefined, nowMs: number) {
  const { customer, modelName } = model;
  const current = pointer?.extension && extensionKey(customer, modelName, pointer.extension.file);
  for await (const { key, modifiedMs } of store.list(extensionPrefix(customer, modelName)))
    if (key !== current && modifiedMs < nowMs - KEPT_MS) await store.delete(key);
}
