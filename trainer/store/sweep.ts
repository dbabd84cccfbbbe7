import { blobKey, listsKey, type Manifest, manifestKey, prefixOf, reportKey } from "../../shared/manifest.ts";
import { heldVersions, holdsPrefix } from "./holds.ts";
import { type ModelRef, readLivePointer } from "./live-pointer-swap.ts";
import { type ListedObject, type ObjectStore, StoreError } from "./object-store.ts";
import { type Look, takeAway } from "./take-away.ts";
import { descriptorsOf } from "./version-files.ts";
import { readManifest, versionNames } from "./versions.ts";

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
 * Deletes the versions that nobody can want back, and then the files that no remaining version names.
 *
 * Manifests go first: after a crash their files are unnamed, and the next sweep finds them. A manifest that cannot be
 * read stops the sweep, since what it names would be unknown. What somebody activates or publishes meanwhile stays, or
 * is put back (`take-away.ts`).
 *
 * @returns The keys that were deleted.
 */
export async function sweep(store: ObjectStore, model: ModelRef, options: SweepOptions): Promise<string[]> {
  const { keepVersions = KEEP_VERSIONS, graceMs = GRACE_MS, nowMs, signal } = options;
  const prefix = prefixOf(model.customer, model.modelName);
  const found = await readLivePointer(store, model);
  if (found === undefined || found.pointer.status === "DESTROYING") return []; // deleteModel's to finish

  const isOld = ({ modifiedMs }: ListedObject) => modifiedMs < nowMs - graceMs;
  const oldIn = async (folder: string) => (await listAll(store, folder)).filter(isOld);
  const stale = await oldIn(holdsPrefix(model)); // a process ended before its activation did
  for (const { key } of stale) await store.delete(key);

  const manifests = await listAll(store, `${prefix}versions/`);
  const newest = new Set(manifests.slice(-keepVersions));
  const keyOf = (version: string) => manifestKey(model.customer, model.modelName, version);
  const claimed: Look = async () => new Set([...(await claimedVersions(store, model))].map(keyOf));
  const used = await claimed();
  const spent = manifests.filter((manifest) => isOld(manifest) && !newest.has(manifest) && !used.has(manifest.key));
  const named = namedFiles(store, model);
  for (const manifest of manifests) if (!spent.includes(manifest)) await named.read(versionOf(manifest.key));
  const versions = await takeAway(store, spent, { needed: claimed, signal });

  const files: ListedObject[] = [];
  for (const folder of ["reports", "lists", "blobs"]) files.push(...(await oldIn(`${prefix}${folder}/`)));
  return [...versions, ...(await takeAway(store, files, { needed: named.look, signal }))];
}

/** What is live, or about to be. Holds come first: one that has just gone has left its version in the pointer. */
async function claimedVersions(store: ObjectStore, model: ModelRef): Promise<Set<string>> {
  const claimed = new Set(await heldVersions(store, model));
  const live = (await readLivePointer(store, model))?.pointer.live?.version;
  return live === undefined ? claimed : claimed.add(live);
}

/** The files that the stored versions name, each manifest read once. */
function namedFiles(store: ObjectStore, model: ModelRef) {
  const known = new Map<string, Manifest>();
  const read = async (version: string): Promise<Manifest | undefined> => {
    const manifest = known.get(version) ?? (await readManifest(store, model, version));
    if (manifest !== undefined) known.set(version, manifest);
    return manifest;
  };
  const look: Look = async () => {
    const claimed = await claimedVersions(store, model);
    const files = new Set<string>();
    for (const version of new Set([...claimed, ...(await versionNames(store, model))])) {
      const manifest = await read(version);
      if (manifest !== undefined) for (const key of filesOf(model, version, manifest)) files.add(key);
      else if (claimed.has(version)) throw unreadable(model, version);
    }
    return files;
  };
  return { read, look };
}

function filesOf({ customer, modelName }: ModelRef, version: string, manifest: Manifest): string[] {
  const blobs = descriptorsOf(manifest).map(({ digest }) => blobKey(customer, modelName, digest));
  return [reportKey(customer, modelName, version), listsKey(customer, modelName, version), ...blobs];
}

/** Another sweep may have it, and is about to put it back. */
const unreadable = ({ customer, modelName }: ModelRef, version: string) =>
  new StoreError(`${manifestKey(customer, modelName, version)} is absent, but its version is in use.`, {
    retryable: true,
  });

const versionOf = (key: string) => key.slice(key.lastIndexOf("/") + 1).replace(/\.json$/, "");

async function listAll(store: ObjectStore, prefix: string): Promise<ListedObject[]> {
  const objects: ListedObject[] = [];
  for await (const object of store.list(prefix)) objects.push(object);
  return objects;
}
