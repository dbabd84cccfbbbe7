/**
 * Versions that somebody is about to put live, one object each: `…/holds/{anything}/{version}`.
 *
 * Who puts a stored version live says so before looking whether it is whole, and takes it back when the pointer names
 * it. A sweep deletes first and looks for holds and the pointer then (`take-away.ts`). So either the one sees that
 * something is gone, or the other sees that it is wanted.
 */
import { randomUUID } from "node:crypto";
import { prefixOf } from "../../shared/manifest.ts";
import type { ModelRef } from "./live-pointer-swap.ts";
import type { ObjectStore } from "./object-store.ts";

export const holdsPrefix = ({ customer, modelName }: ModelRef): string => `${prefixOf(customer, modelName)}holds/`;

/** Does the work while the version is held. */
export async function whileHeld<Result>(
  store: ObjectStore,
  model: ModelRef,
  { version, work }: { readonly version: string; readonly work: () => Promise<Result> },
): Promise<Result> {
  const key = `${holdsPrefix(model)}${randomUUID()}/${version}`;
  try {
    await store.putIfAbsent(key, new TextEncoder().encode(version), "text/plain");
    return await work();
  } finally {
    await store.delete(key).catch(() => undefined); // one that stays is deleted by a sweep when it is old
  }
}

export async function heldVersions(store: ObjectStore, model: ModelRef): Promise<string[]> {
  const versions: string[] = [];
  for await (const { key } of store.list(holdsPrefix(model))) versions.push(key.slice(key.lastIndexOf("/") + 1));
  return versions;
}
