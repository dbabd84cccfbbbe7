import { liveAfter, MANIFEST_TYPE } from "../../shared/live-pointer.ts";
import { blobKey, Manifest, manifestKey, prefixOf } from "../../shared/manifest.ts";
import { Problem } from "../../shared/problem.ts";
import { whileHeld } from "./holds.ts";
import { changeLivePointer, type ModelRef } from "./live-pointer-swap.ts";
import { type ObjectStore, StoreError } from "./object-store.ts";
import { storedJson } from "./stored-json.ts";
import { describe, descriptorsOf } from "./version-files.ts";

const VERSION = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;
const MANIFEST_BYTES_MAX = 2 ** 20;

/** Names of the stored versions, oldest first. */
export async function versionNames(store: ObjectStore, { customer, modelName }: ModelRef): Promise<string[]> {
  const prefix = `${prefixOf(customer, modelName)}versions/`;
  const names: string[] = [];
  for await (const { key } of store.list(prefix)) names.push(key.slice(prefix.length).replace(/\.json$/, ""));
  return names;
}

/** Undefined when there is no such version. Throws StoreError when the manifest cannot be read as one. */
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
  /** Whether the model is still the one that is meant, and not a new one of its name; absent: nobody else makes models. */
  readonly isThere?: () => Promise<boolean>;
};

/**
 * Serves a stored version, older or newer than the live one: nothing is copied, the pointer is swapped. The version is
 * held from before the look at its files until the pointer names it, so that no sweep takes it away in between.
 *
 * @returns Its manifest.
 * @throws Problem `version_not_found` when it is not stored or not whole, `model_not_found` when the model is deleted.
 */
export async function activate(
  store: ObjectStore,
  model: ModelRef,
  { version, nowMs, isThere }: Activation,
): Promise<Manifest> {
  const unknown = unknownVersion(model, version);
  const key = manifestKey(model.customer, model.modelName, version);
  if (!VERSION.test(version) || (await store.head(key)) === undefined) throw unknown;
  return whileHeld(store, model, {
    version,
    work: async () => {
      const { manifest, descriptor } = await wholeManifest(store, model, version);
      await changeLivePointer(store, model, async (current) => {
        // Asked once the pointer is read: a model that was made since then has another one.
        if (current === undefined || current.status === "DESTROYING" || (isThere && !(await isThere())))
          throw new Problem("model_not_found", `There is no model with the name ${JSON.stringify(model.modelName)}.`);
        if (current.live?.version === version && current.status === "ACTIVE") return undefined;
        const live = liveAfter(current.live, version, descriptor);
        return { format: 1, status: "ACTIVE", live, updated_at: new Date(nowMs).toISOString() };
      });
      return manifest;
    },
  });
}

/** The manifest and its descriptor, when it and every file that it names is there. */
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
