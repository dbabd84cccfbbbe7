/**
 * Publishing: store and verify the blobs, then the report with its lists and replay, then store and verify the manifest, then swap the live
 * pointer, and last restore what a sweep may have deleted.
 *
 * No edge sees anything before the pointer is swapped, and nothing that it sees changes afterwards. So a crash between any two
 * steps leaves what is served as it was, and another call with the same version finishes the work.
 *
 * README.md says what the pointer, the lease and the tombstone guarantee when two trainers work at once.
 */
import { randomBytes } from "node:crypto";
import type { Canary, CanaryState } from "../../shared/experiment/canary.ts";
import { keptBy } from "../../shared/experiment/running.ts";
import { type LivePointer, liveAfter, MANIFEST_TYPE } from "../../shared/live-pointer.ts";
import { blobKey, type Live, listsKey, manifestKey, replayKey, reportKey } from "../../shared/manifest.ts";
import { StageError } from "../stage/stage-error.ts";
import { canaryVersion, nextCanary, stateOfCanary, stateOfNext, withCanary } from "./canaries.ts";
import { forEachAtOnce } from "./for-each-at-once.ts";
import { changeLivePointer, type ModelRef, readLivePointer } from "./live-pointer-swap.ts";
import { type ObjectStore, StoreError } from "./object-store.ts";
import { memoryFault, servingVersions } from "./serving-memory.ts";
import { type BuiltVersion, describe, faultOf, manifestBytes, storeFile, storeVerified } from "./version-files.ts";

export type PublishContext = {
  readonly store: ObjectStore;
  readonly nowMs: () => number;
  readonly signal: AbortSignal;
  /** The ranked lists behind the report, and the replay that can make such lists again; stored beside the report. */
  readonly lists?: Uint8Array;
  readonly replay?: Uint8Array;
  /** `fraction` 0…1 of the bytes that are stored and verified. */
  readonly progress: (fraction: number, detail: string) => void;
  /** True while this run owns the model's lease. Absent: there is no other trainer. */
  readonly ownsLease?: (() => Promise<boolean>) | undefined;
  /** Memory of an isolate for versions. With it, a version that does not fit beside those of an experiment or a holdout is refused. */
  readonly edgeMemoryBytes?: number;
  /** The version serves a share of the users first, unless it is the model's first one. Absent: it goes live at once. */
  readonly canary?: (Canary & { readonly edgeMemoryBytes: number }) | undefined;
};

/**
 * Puts a version live, or makes it a canary.
 *
 * @param report The evaluation report, as JSON bytes.
 * @returns What became of the canary. Undefined: the version is live, without one.
 * @throws StageError `model_deleted` when the model has a tombstone or no pointer, `run_superseded` when the run has lost its
 *   lease, `store_unavailable` when the store fails, `version_too_large` when an edge cannot hold it beside the other versions that serve.
 */
export async function publish(
  built: BuiltVersion,
  report: Uint8Array,
  context: PublishContext,
): Promise<CanaryState | undefined> {
  const model = { customer: built.manifest.customer, modelName: built.manifest.model_name };
  try {
    await requireModel(context.store, model);
    await storeVersion(built, report, context);
    const canary = await swapLive(built, model, context);
    await restoreMissing(built, model, context);
    return canary;
  } catch (error) {
    const code = error instanceof StageError ? error.code : undefined;
    if (code === "model_deleted") await removeUploads([...versionKeys(built), ...blobKeys(built)], context);
    if (code === "run_superseded") await removeUploads(versionKeys(built), context);
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
  const { lists, replay } = context;
  for (const [keyOf, bytes] of [[listsKey, lists] as const, [replayKey, replay] as const])
    if (bytes) await store.putIfAbsent(keyOf(customer, modelName, built.version), bytes, "application/octet-stream");
  await storeManifest(built, store);
}

async function storeManifest({ version, manifest }: BuiltVersion, store: ObjectStore): Promise<void> {
  const key = manifestKey(manifest.customer, manifest.model_name, version);
  const bytes = manifestBytes(manifest);
  await store.putIfAbsent(key, bytes, MANIFEST_TYPE);
  const fault = await faultOf(store, key, await describe(bytes, MANIFEST_TYPE));
  if (fault !== undefined) throw new StoreError(`The manifest is not what was stored: ${fault}.`);
}

async function swapLive(
  built: BuiltVersion,
  model: ModelRef,
  context: PublishContext,
): Promise<CanaryState | undefined> {
  const { store, nowMs, signal, ownsLease } = context;
  const bytes = manifestBytes(built.manifest);
  const manifest = await describe(bytes, MANIFEST_TYPE);
  const manifest_json = new TextDecoder().decode(bytes); // so that the swap need not read it
  signal.throwIfAborted();
  let state: CanaryState | undefined;
  await changeLivePointer(store, model, async (current) => {
    if (current === undefined || current.status === "DESTROYING") throw modelDeleted(model);
    const isLive = current.status === "ACTIVE" && current.live?.version === built.version;
    if (isLive) return undefined; // an earlier attempt of this run swapped the pointer, and its answer was lost
    state = knownCanary(current, built.version);
    if (state !== undefined) return undefined; // so here
    if (ownsLease && !(await ownsLease())) throw superseded(model);
    const live = liveAfter(current.live, built.version, manifest);
    const begun = await asCanary(current, live, model, context);
    state = begun?.state;
    if (begun?.pointer) return begun.pointer;
    const updated_at = new Date(nowMs()).toISOString();
    const pointer: LivePointer = { format: 1, status: "ACTIVE", live, ...keptBy(current), manifest_json, updated_at };
    await requireRoom(store, model, servingVersions(pointer), context.edgeMemoryBytes);
    return pointer;
  });
  return state;
}

/** Throws StageError version_too_large if an edge cannot hold all versions that would serve. */
async function requireRoom(
  store: ObjectStore,
  model: ModelRef,
  versions: readonly string[],
  edgeMemoryBytes = Number.POSITIVE_INFINITY,
): Promise<void> {
  const fault = await memoryFault(store, model, versions, edgeMemoryBytes);
  if (fault === undefined) return;
  throw new StageError(
    "deploying",
    "version_too_large",
    `The new version does not fit beside those of the experiment or the holdout, which go on with the version before. ${fault}`,
  );
}

function knownCanary({ canary, next_canary }: LivePointer, version: string): CanaryState | undefined {
  if (canary && canaryVersion(canary).version === version) return stateOfCanary(canary);
  return next_canary?.version.version === version ? stateOfNext(next_canary) : undefined;
}

/**
 * The pointer with the version as its canary, or with the version waiting for the end of the present one, in the place of an older one.
 * Without a pointer, the version goes live at once, and the state says why. Undefined: the model wants no canary, or has no version yet.
 */
async function asCanary(
  current: LivePointer,
  live: Live,
  model: ModelRef,
  { store, nowMs, canary: wanted }: PublishContext,
): Promise<{ readonly state: CanaryState; readonly pointer?: LivePointer } | undefined> {
  if (wanted === undefined || current.status !== "ACTIVE" || current.live === null) return undefined;
  const next = nextCanary(wanted, live);
  const updated_at = new Date(nowMs()).toISOString();
  if (current.canary) return { state: stateOfNext(next), pointer: { ...current, next_canary: next, updated_at } };
  const pointer = withCanary(current, next, { salt: randomBytes(12).toString("hex"), nowMs: nowMs() });
  const fault = await memoryFault(store, model, servingVersions(pointer), wanted.edgeMemoryBytes);
  if (fault === undefined) return { state: stateOfCanary(pointer.canary!), pointer };
  const reason = `It went live without a canary, because both versions do not fit. ${fault}`;
  return { state: { ...stateOfNext(next), state: "live", reason, ended_at: updated_at } };
}

/**
 * Stores files again that were there before the upload and have disappeared since. A sweep checks its lease before each deletion,
 * but the deletion of a trainer that fell asleep right after that check may arrive much later.
 */
async function restoreMissing(built: BuiltVersion, model: ModelRef, { store, signal }: PublishContext): Promise<void> {
  await storeManifest(built, store);
  await forEachAtOnce(built.files, (file) => storeFile(store, model, file), signal);
}

async function requireModel(store: ObjectStore, model: ModelRef): Promise<void> {
  const found = await readLivePointer(store, model);
  if (found === undefined || found.pointer.status === "DESTROYING") throw modelDeleted(model);
}

/**
 * Deletes what this run has stored. The model's deletion may be over already, so nothing else would delete these objects, or a
 * new model with the same name could activate the version. After a lost lease the blobs stay: the other run may share them.
 */
async function removeUploads(keys: readonly string[], { store }: PublishContext): Promise<void> {
  for (const key of keys) await store.delete(key).catch(() => undefined); // the caller throws the reason of the run's end
}

const versionKeys = ({ version, manifest: { customer, model_name } }: BuiltVersion) =>
  [manifestKey, reportKey, listsKey, replayKey].map((keyOf) => keyOf(customer, model_name, version));

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
