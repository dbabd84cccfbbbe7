import { blobKey, prefixOf } from "../../shared/manifest.ts";
import { type ModelRef, readLivePointer } from "./live-pointer-swap.ts";
import type { ListedObject, ObjectStore } from "./object-store.ts";
import { descriptorsOf } from "./version-files.ts";
import { readManifest } from "./versions.ts";

export type SweepOptions = {
  /** Newest versions that stay, besides the live one. */
  readonly keepVersions?: number;
  /** Nothing younger is touched: a publish that is under way has not written its manifest yet. */
  readonly graceMs?: number;
  readonly nowMs: number;
  readonly signal: AbortSignal;
};

const KEEP_VERSIONS = 5;
const GRACE_MS = 24 * 3_600_000;

/**
 * Deletes the versions that nobody can want back, and then the blobs that no remaining version names.
 *
 * Manifests go first: after a crash their blobs are unnamed, and the next sweep finds them. A manifest that cannot be
 * read stops the sweep, since what it names would be unknown.
 *
 * @returns The keys that were deleted.
 */
export async function sweep(store: ObjectStore, model: ModelRef, options: SweepOptions): Promise<string[]> {
  const { keepVersions = KEEP_VERSIONS, graceMs = GRACE_MS, nowMs, signal } = options;
  const prefix = prefixOf(model.customer, model.modelName);
  const isOld = ({ modifiedMs }: ListedObject) => modifiedMs < nowMs - graceMs;
  const deleted: string[] = [];
  const remove = async (key: string) => {
    signal.throwIfAborted();
    await store.delete(key);
    deleted.push(key);
  };

  const found = await readLivePointer(store, model);
  if (found === undefined || found.pointer.status === "DESTROYING") return deleted; // deleteModel's to finish
  const live = found.pointer.live?.version;

  const manifests = await listAll(store, `${prefix}versions/`);
  const newest = new Set(manifests.slice(-keepVersions).map(({ key }) => key));
  const isKept = (object: ListedObject) => !isOld(object) || newest.has(object.key) || versionOf(object.key) === live;
  const kept = manifests.filter(isKept);
  const named = new Set<string>();
  for (const { key } of kept) {
    const manifest = await readManifest(store, model, versionOf(key));
    for (const { digest } of manifest ? descriptorsOf(manifest) : [])
      named.add(blobKey(model.customer, model.modelName, digest));
  }
  for (const { key } of manifests.filter((manifest) => !isKept(manifest))) await remove(key);

  const keptVersions = new Set(kept.map(({ key }) => versionOf(key)));
  for (const folder of ["reports", "lists"]) {
    for await (const object of store.list(`${prefix}${folder}/`))
      if (isOld(object) && !keptVersions.has(versionOf(object.key))) await remove(object.key);
  }

  const unnamed = (await listAll(store, `${prefix}blobs/`)).filter((blob) => isOld(blob) && !named.has(blob.key));
  // Somebody may have activated a version that was about to go.
  const liveNow = (await readLivePointer(store, model))?.pointer.live?.version;
  if (liveNow !== live && liveNow !== undefined && !keptVersions.has(liveNow)) return deleted;
  for (const { key } of unnamed) await remove(key);
  return deleted;
}

const versionOf = (key: string) => key.slice(key.lastIndexOf("/") + 1).replace(/\.(json|bin)$/, "");

async function listAll(store: ObjectStore, prefix: string): Promise<ListedObject[]> {
  const objects: ListedObject[] = [];
  for await (const object of store.list(prefix)) objects.push(object);
  return objects;
}
