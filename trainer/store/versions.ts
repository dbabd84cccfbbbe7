import { keptBy } from "../../shared/experiment/running.ts";
import { type LivePointer, liveAfter, MANIFEST_TYPE } from "../../shared/live-pointer.ts";
import { blobKey, type Live, Manifest, manifestKey, prefixOf } from "../../shared/manifest.ts";
import { Problem } from "../../shared/problem.ts";
import { changeLivePointer, type ModelRef } from "./live-pointer-swap.ts";
import { type ObjectStore, StoreError, storedJson } from "./object-store.ts";
import { describe, descriptorsOf } from "./version-files.ts";

/** The newest versions, and those younger than a day, can be activated. A sweep keeps twice as much (sweep.ts). */
export const ACTIVATABLE = { count: 5, ageMs: 24 * 3_600_000 };
const MANIFEST_BYTES_MAX = 2 ** 20;

export type StoredVersion = { readonly version: string; readonly modifiedMs: number };

/** All stored versions, oldest first: their names begin with their time. */
export async function storedVersions(
  store: ObjectStore,
  { customer, modelName }: ModelRef,
): Promise<readonly StoredVersion[]> {
  const prefix = `${prefixOf(customer, modelName)}versions/`;
  const versions: StoredVersion[] = [];
  for await (const { key, modifiedMs } of store.list(prefix))
    versions.push({ version: key.slice(prefix.length).replace(/\.json$/, ""), modifiedMs });
  return versions;
}

/** Names of the versions that can be activated, and of the live one, oldest first. */
export async function versionNames(
  store: ObjectStore,
  model: ModelRef,
  { live, nowMs }: { readonly live: string | null | undefined; readonly nowMs: number },
): Promise<string[]> {
  const versions = await storedVersions(store, model);
  const newest = versions.length - ACTIVATABLE.count;
  const canBeLive = ({ version, modifiedMs }: StoredVersion, i: number) =>
    i >= newest || version === live || modifiedMs >= nowMs - ACTIVATABLE.ageMs;
  return versions.filter(canBeLive).map(({ version }) => version);
}

/** Undefined when there is no such version. Throws StoreError when the object is not a manifest. */
export async function readManifest(
  store: ObjectStore,
  model: ModelRef,
  version: string,
): Promise<Manifest | undefined> {
  return (await readManifestBytes(store, model, version))?.manifest;
}

export type Activation = {
  readonly version: string;
  readonly nowMs: number;
  /** False once the model is deleted, also when a new one has its name. */
  readonly exists?: () => Promise<boolean>;
};

/**
 * Makes a stored version the live one, for a roll-back or forward. Only the pointer changes. A canary ends, also if the version is live.
 *
 * @returns Its manifest.
 * @throws Problem `version_not_found` when it cannot be activated or lacks a file, `model_not_found` when the model is deleted.
 */
export async function activate(
  store: ObjectStore,
  model: ModelRef,
  { version, nowMs, exists }: Activation,
): Promise<Manifest> {
  let manifest: Manifest | undefined;
  // Everything is checked after the pointer was read: if another trainer changes it meanwhile, the swap fails.
  await changeLivePointer(store, model, async (current) => {
    if (current === undefined || current.status === "DESTROYING") throw unknownModel(model);
    const { live, ...found } = await activatable(store, model, { version, current, nowMs });
    manifest = found.manifest;
    if (exists && !(await exists())) throw unknownModel(model);
    if (liveVersionOf(current) === version && !current.canary && !current.next_canary) return undefined;
    return { format: 1, status: "ACTIVE", live, ...keptBy(current), updated_at: new Date(nowMs).toISOString() };
  });
  return manifest!;
}

/** The manifest and its descriptor. Throws Problem `version_not_found` unless every file that it names is stored. */
async function wholeManifest(store: ObjectStore, model: ModelRef, version: string) {
  const unknown = unknownVersion(model, version);
  const found = await readManifestBytes(store, model, version);
  if (found === undefined) throw unknown;
  for (const { digest, size } of descriptorsOf(found.manifest)) {
    if ((await store.head(blobKey(model.customer, model.modelName, digest))) === size) continue;
    const lost = `${unknown.message} Its manifest is still there, but some of its files are not.`;
    throw new Problem("version_not_found", lost);
  }
  const descriptor = await describe(found.bytes, MANIFEST_TYPE);
  return { manifest: found.manifest, descriptor };
}

/** A version that can be activated, as pointers name it, and its manifest. Throws Problem version_not_found. */
export async function activatable(
  store: ObjectStore,
  model: ModelRef,
  { version, current, nowMs }: { readonly version: string; readonly current: LivePointer; readonly nowMs: number },
): Promise<{ readonly live: Live; readonly manifest: Manifest }> {
  const names = await versionNames(store, model, { live: liveVersionOf(current), nowMs });
  if (!names.includes(version)) throw unknownVersion(model, version);
  const { manifest, descriptor } = await wholeManifest(store, model, version);
  return { live: liveAfter(current.live, version, descriptor), manifest };
}

const liveVersionOf = ({ status, live }: LivePointer) => (status === "ACTIVE" ? live?.version : undefined);

export const unknownModel = ({ modelName }: ModelRef) =>
  new Problem("model_not_found", `There is no model with the name ${JSON.stringify(modelName)}.`);

const unknownVersion = ({ modelName }: ModelRef, version: string) =>
  new Problem("version_not_found", `The model ${JSON.stringify(modelName)} has no version ${JSON.stringify(version)}.`);

async function readManifestBytes(store: ObjectStore, { customer, modelName }: ModelRef, version: string) {
  const key = manifestKey(customer, modelName, version);
  const found = await store.get(key, { offset: 0, length: MANIFEST_BYTES_MAX });
  if (found === undefined) return undefined;
  const parsed = Manifest.safeParse(storedJson(found.bytes));
  if (!parsed.success) throw new StoreError(`${key} is not a manifest; delete the object to give the version up.`);
  return { bytes: found.bytes, manifest: parsed.data };
}
