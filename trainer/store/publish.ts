/**
 * Publishing: blobs → read back → report and lists → manifest → read back → the live pointer, last → look again for the manifest
 * and every blob.
 *
 * Everything before the pointer is invisible to an edge, and everything after it changes nothing; so a crash between
 * any two steps leaves what is served as it was, and publishing the same version again finishes the work. The pointer
 * is swapped over the very pointer that was read. When somebody else was first, what they wrote decides: a tombstone ends the
 * run. Whether the run is still to be heard is asked once the pointer has been read: a model that was deleted and made again
 * under the same name since then has another pointer, so a run of the old one cannot go live. A run that is heard is the model's
 * newest, whatever the clock of the trainer before it said; where nobody can be asked, a version of a later name stays.
 */
import { type LivePointer, liveAfter, MANIFEST_TYPE } from "../../shared/live-pointer.ts";
import { blobKey, listsKey, manifestKey, reportKey } from "../../shared/manifest.ts";
import { StageError } from "../stage/stage-error.ts";
import { forEachAtOnce } from "./for-each-at-once.ts";
import { changeLivePointer, type ModelRef, readLivePointer } from "./live-pointer-swap.ts";
import { type ObjectStore, StoreError } from "./object-store.ts";
import { type BuiltVersion, describe, faultOf, manifestBytes, storeFile, storeVerified } from "./version-files.ts";

export type PublishContext = {
  readonly store: ObjectStore;
  readonly nowMs: () => number;
  readonly signal: AbortSignal;
  /** The lists behind the report, stored beside it. */
  readonly lists?: Uint8Array;
  /** `share` 0…1 of the bytes stored and read back. */
  readonly progress: (share: number, detail: string) => void;
  /** Whether this run, of this very model, is still the one that may publish; absent: nobody else can be. */
  readonly ownsLease?: () => Promise<boolean>;
};

export type PublishOutcome =
  | { readonly kind: "live"; readonly version: string }
  /** Somebody else has put a newer version live; this one is stored and can be activated. */
  | { readonly kind: "superseded"; readonly version: string; readonly liveVersion: string };

/**
 * Puts a version live.
 *
 * @param report The evaluation report, as JSON bytes.
 * @throws StageError `model_deleted` when the model has a tombstone or no pointer, `run_superseded` when the run is not held any more,
 *   `store_unavailable` when the store fails.
 */
export async function publish(
  built: BuiltVersion,
  report: Uint8Array,
  context: PublishContext,
): Promise<PublishOutcome> {
  const model = { customer: built.manifest.customer, modelName: built.manifest.model_name };
  try {
    await requireModel(context.store, model);
    await storeVersion(built, report, context);
    const live = await swapLive(built, model, context);
    if (live.live!.version !== built.version)
      return { kind: "superseded", version: built.version, liveVersion: live.live!.version };
    await lookAgain(built, model, context);
    return { kind: "live", version: built.version };
  } catch (error) {
    const code = error instanceof StageError ? error.code : undefined;
    if (code === "model_deleted") await removeOwn([...versionKeys(built), ...blobKeys(built)], context);
    if (code === "run_superseded") await removeOwn(versionKeys(built), context);
    if (!(error instanceof StoreError)) throw error;
    throw new StageError("deploying", "store_unavailable", error.message, { cause: error, retryable: error.retryable });
  }
}

async function storeVersion(built: BuiltVersion, report: Uint8Array, context: PublishContext): Promise<void> {
  const { store, signal } = context;
  const { customer, model_name: modelName } = built.manifest;
  const total = built.files.reduce((sum, { descriptor }) => sum + descriptor.size, 0) || 1;
  let done = 0;
  await forEachAtOnce(
    built.files,
    async (file) => {
      await storeVerified(store, { customer, modelName }, file);
      done += file.descriptor.size;
      context.progress(done / total, `${(done / 1e6).toFixed(1)} of ${(total / 1e6).toFixed(1)} MB`);
    },
    signal,
  );
  signal.throwIfAborted();
  await store.putIfAbsent(reportKey(customer, modelName, built.version), report, "application/json");
  if (context.lists)
    await store.putIfAbsent(listsKey(customer, modelName, built.version), context.lists, "application/octet-stream");
  await storeManifest(built, store);
}

async function storeManifest({ version, manifest }: BuiltVersion, store: ObjectStore): Promise<void> {
  const key = manifestKey(manifest.customer, manifest.model_name, version);
  const bytes = manifestBytes(manifest);
  await store.putIfAbsent(key, bytes, MANIFEST_TYPE);
  const fault = await faultOf(store, key, await describe(bytes, MANIFEST_TYPE));
  if (fault !== undefined) throw new StoreError(`The manifest is not what was stored: ${fault}.`);
}

/** The pointer as it is afterwards: ours, or somebody's newer one. */
async function swapLive(built: BuiltVersion, model: ModelRef, { store, nowMs, signal, ownsLease }: PublishContext) {
  const manifest = await describe(manifestBytes(built.manifest), MANIFEST_TYPE);
  signal.throwIfAborted();
  const pointer = await changeLivePointer(store, model, async (current) => {
    if (current === undefined || current.status === "DESTROYING") throw modelDeleted(model);
    const newest = current.status === "ACTIVE" ? current.live?.version : undefined;
    if (newest === built.version) return undefined; // ours already, though its answer was lost
    if (ownsLease && !(await ownsLease())) throw superseded(model);
    if (!ownsLease && newest !== undefined && newest > built.version) return undefined;
    const live = liveAfter(current.live, built.version, manifest);
    return { format: 1, status: "ACTIVE", live, updated_at: new Date(nowMs()).toISOString() } satisfies LivePointer;
  });
  return pointer!;
}

/**
 * A sweep by another trainer may have removed a blob that both versions share, between our look at it and the manifest
 * that protects it. So every file is looked for once more, and put back.
 */
async function lookAgain(built: BuiltVersion, model: ModelRef, { store, signal }: PublishContext): Promise<void> {
  await storeManifest(built, store);
  await forEachAtOnce(built.files, (file) => storeFile(store, model, file), signal);
}

async function requireModel(store: ObjectStore, model: ModelRef): Promise<void> {
  const found = await readLivePointer(store, model);
  if (found === undefined || found.pointer.status === "DESTROYING") throw modelDeleted(model);
}

/**
 * The deletion may be over already: what this run has stored since would stay for ever, or could be activated in a new model of
 * that name. Which blobs a new model has as well is for its sweep to tell.
 */
async function removeOwn(keys: readonly string[], { store }: PublishContext): Promise<void> {
  for (const key of keys) await store.delete(key).catch(() => undefined); // why the run ends is the thing to tell
}

const versionKeys = ({ version, manifest: { customer, model_name } }: BuiltVersion) =>
  [manifestKey, reportKey, listsKey].map((keyOf) => keyOf(customer, model_name, version));

const blobKeys = ({ files, manifest: { customer, model_name } }: BuiltVersion) =>
  files.map(({ descriptor }) => blobKey(customer, model_name, descriptor.digest));

const superseded = ({ modelName }: ModelRef) =>
  new StageError(
    "deploying",
    "run_superseded",
    `This run of ${JSON.stringify(modelName)} was cancelled or taken over by another trainer, so nothing was published.`,
    { retryable: true },
  );

const modelDeleted = ({ modelName }: ModelRef) =>
  new StageError(
    "deploying",
    "model_deleted",
    `The model ${JSON.stringify(modelName)} was deleted while it was being trained, so nothing was published.`,
  );
