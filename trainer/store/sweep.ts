import type { RunningExperiment } from "../../shared/experiment/running.ts";
import { blobKey, listsKey, manifestKey, prefixOf, replayKey, reportKey } from "../../shared/manifest.ts";
import { type DeleteOptions, deleteObjects } from "./delete-objects.ts";
import { changeLivePointer, type ModelRef, readLivePointer } from "./live-pointer-swap.ts";
import { type ListedObject, type ObjectStore, StoreError } from "./object-store.ts";
import { servingVersions } from "./serving-memory.ts";
import { descriptorsOf } from "./version-files.ts";
import { ACTIVATABLE, readManifest, type StoredVersion, storedVersions } from "./versions.ts";

export type SweepOptions = DeleteOptions & {
  readonly nowMs: number;
  /** The newest versions, which stay besides the live one. */
  readonly keepVersions?: number;
  /** Younger objects stay: they may belong to an upload under way. */
  readonly graceMs?: number;
  /** Versions that were stored before this time are deleted, however new they are; except the live one. */
  readonly spentBeforeMs?: number;
};

/**
 * Twice the limits within which a version can be activated. So a sweep would have to meet an activation that lasts for five
 * publishes and a day to delete a version that is about to go live.
 */
const KEEP_VERSIONS = 2 * ACTIVATABLE.count;
const GRACE_MS = 2 * ACTIVATABLE.ageMs;

/**
 * Deletes old versions, and the files that no remaining version names, such as those of a crashed upload. Only the run that owns
 * the model's lease may call it, so it never meets another publish.
 *
 * Manifests go first: after a crash their files are unnamed, and the next sweep finds them. A manifest that cannot be read stops
 * the sweep before it deletes anything.
 *
 * @returns The keys that were deleted.
 */
export async function sweep(store: ObjectStore, model: ModelRef, options: SweepOptions): Promise<string[]> {
  const { nowMs, keepVersions = KEEP_VERSIONS, graceMs = GRACE_MS, spentBeforeMs = 0 } = options;
  const pointer = (await readLivePointer(store, model))?.pointer;
  if (pointer === undefined || pointer.status === "DESTROYING") return []; // deleteModel does the work

  const isOld = ({ modifiedMs }: { readonly modifiedMs: number }) => modifiedMs < nowMs - graceMs;
  const live = pointer.live?.version;
  const versions = await storedVersions(store, model);
  const serving = new Set([...servingVersions(pointer), pointer.next_canary?.version.version]);
  const isSpent = (stored: StoredVersion, i: number) =>
    stored.modifiedMs < spentBeforeMs ||
    (i < versions.length - keepVersions && isOld(stored) && !serving.has(stored.version));
  const spent = versions
    .filter(isSpent)
    .map(({ version }) => version)
    .filter((version) => version !== live);
  // An erasure is due: what needs a version with the record of an erased user ends.
  if (spent.some((version) => serving.has(version))) await endNeeding(store, model, new Set(spent), nowMs);
  const kept = new Set(versions.map(({ version }) => version).filter((version) => !spent.includes(version)));
  if (live) kept.add(live);
  const named = new Set<string>();
  for (const version of kept) for (const key of await filesOf(store, model, version)) named.add(key);

  const manifests = spent.map((version) => manifestKey(model.customer, model.modelName, version));
  await deleteObjects(store, manifests, options);
  const files = (await listFiles(store, model)).filter((file) => isOld(file) && !named.has(file.key));
  const unnamed = files.map(({ key }) => key);
  await deleteObjects(store, unnamed, options);
  return [...manifests, ...unnamed];
}

/** Ends the experiment, the canary, the waiting one and the holdout where they need one of these versions. */
async function endNeeding(
  store: ObjectStore,
  model: ModelRef,
  spent: ReadonlySet<string>,
  nowMs: number,
): Promise<void> {
  const stays = (running: Pick<RunningExperiment, "arms"> | undefined) =>
    running?.arms.every(({ version }) => version === null || !spent.has(version.version));
  await changeLivePointer(store, model, (current) => {
    if (current === undefined) return undefined;
    const { experiment, canary, holdout, next_canary, ...rest } = current;
    return {
      ...rest,
      ...(stays(experiment) && { experiment }),
      ...(stays(canary) && { canary }),
      ...(stays(holdout) && { holdout }),
      ...(next_canary && !spent.has(next_canary.version.version) && { next_canary }),
      updated_at: new Date(nowMs).toISOString(),
    };
  });
}

/** Keys of the version's report, lists, replay and blobs. */
async function filesOf(store: ObjectStore, model: ModelRef, version: string): Promise<string[]> {
  const { customer, modelName } = model;
  const manifest = await readManifest(store, model, version);
  if (manifest === undefined)
    throw new StoreError(`${manifestKey(customer, modelName, version)} is absent, but its version is in use.`);
  const blobs = descriptorsOf(manifest).map(({ digest }) => blobKey(customer, modelName, digest));
  return [...[reportKey, listsKey, replayKey].map((keyOf) => keyOf(customer, modelName, version)), ...blobs];
}

async function listFiles(store: ObjectStore, { customer, modelName }: ModelRef): Promise<ListedObject[]> {
  const files: ListedObject[] = [];
  for (const folder of ["reports", "lists", "replays", "blobs"])
    for await (const file of store.list(`${prefixOf(customer, modelName)}${folder}/`)) files.push(file);
  return files;
}
