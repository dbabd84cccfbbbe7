/** Extends the live version of a model by its new items, from what the bucket has. */
import { fileURLToPath } from "node:url";
import { FormatError } from "../../../shared/assert.ts";
import type { EvaluationReport } from "../../../shared/evaluation-report.ts";
import { changesBaseKey, changesHeadKey, decodeItemChanges } from "../../../shared/items/changes-file.ts";
import { blobKey, type Descriptor, type Manifest, modelKey, POPULARITY } from "../../../shared/manifest.ts";
import { COLD_EVERY } from "../../learn/attributes/cold-start.ts";
import type { ExtensionInput } from "../../publish/extend-version.ts";
import { liveReport } from "../../run/stored-state.ts";
import { putExtension } from "../../store/extensions.ts";
import { type ModelRef, readLivePointer } from "../../store/live-pointer-swap.ts";
import { type ObjectStore, StoreError } from "../../store/object-store.ts";
import { readManifest } from "../../store/versions.ts";
import { askProcess } from "../processes/ask-process.ts";

export type ExtensionResult =
  | { readonly kind: "extension"; readonly bytes: Uint8Array | undefined }
  | { readonly kind: "unreadable"; readonly message: string };

export type ExtendContext = {
  readonly store: ObjectStore;
  readonly nowMs: () => number;
  readonly signal: AbortSignal;
};

const PROGRAM = fileURLToPath(new URL("./extension-child.ts", import.meta.url).href);
const HEAP_MB_MAX = 2048;
/** Limit on the computing of one extension. It is much less than this for the largest catalogs. */
const SECONDS_MAX = 120;
const DONE_MAX = 100_000;

/** Returns a function that extends a model's live version, unless nothing has changed since it did so. Throws StoreError, FormatError. */
export function modelExtender({ store, nowMs, signal }: ExtendContext): (model: ModelRef) => Promise<void> {
  const done = new Map<string, string>(); // by model, the version and the changes that it was extended by
  return async (model) => {
    const { customer, modelName } = model;
    const pointer = (await readLivePointer(store, model))?.pointer;
    if (pointer?.status !== "ACTIVE" || pointer.live === null) return;
    const head = await store.get(changesHeadKey(customer, modelName));
    if (head === undefined) return;
    const { version } = pointer.live;
    const [key, state] = [modelKey(model), `${version} ${head.etag}`];
    if (done.get(key) === state) return;
    const input = await inputOf(store, model, version, head.bytes);
    const bytes = input && (await extensionBy(input, signal));
    await putExtension(store, model, { version, bytes, nowMs: nowMs() });
    if (done.size >= DONE_MAX) done.clear();
    done.set(key, state);
  };
}

/** Undefined if there are no new items, or the version's method cannot score them. Throws StoreError, FormatError. */
async function inputOf(
  store: ObjectStore,
  model: ModelRef,
  version: string,
  head: Uint8Array,
): Promise<ExtensionInput | undefined> {
  const { customer, modelName } = model;
  const changes = decodeItemChanges(head);
  const base = changes.base && (await read(store, changesBaseKey(customer, modelName, changes.base.digest)));
  const hasNew = changes.newAt.size > 0 || (base !== null && decodeItemChanges(base).newAt.size > 0);
  if (!hasNew) return undefined;
  const manifest = await readManifest(store, model, version);
  if (manifest === undefined || !canExtend(manifest)) return undefined;
  const file = (descriptor: Descriptor) => read(store, blobKey(customer, modelName, descriptor.digest));
  return {
    catalog: await file(manifest.catalog),
    attributes: await file(manifest.attributes),
    similarity: manifest.similarity && (await file(manifest.similarity)),
    changesFrom: manifest.changes_from,
    head,
    base: base ?? undefined,
    every: coldEveryOf(await liveReport(store, model)),
  };
}

/** How often lists hold items that nobody has chosen, as the version was chosen (choose/tries/cold-places.ts). */
const coldEveryOf = (report: EvaluationReport | undefined): number => report?.chosen.params.coldEvery ?? COLD_EVERY;

/** Whether the version has scores for users, and attributes by which they can be predicted. */
function canExtend(manifest: Manifest): manifest is Manifest & { readonly attributes: Descriptor } {
  return manifest.attributes !== null && manifest.model.method !== POPULARITY;
}

async function read(store: ObjectStore, key: string): Promise<Uint8Array> {
  const found = await store.get(key);
  if (found === undefined) throw new StoreError(`${key} is absent, but it is in use.`, { retryable: true });
  return found.bytes;
}

/** Throws FormatError. */
async function extensionBy(input: ExtensionInput, stopping: AbortSignal): Promise<Uint8Array | undefined> {
  const signal = AbortSignal.any([stopping, AbortSignal.timeout(SECONDS_MAX * 1000)]);
  const options = { program: PROGRAM, heapMbMax: HEAP_MB_MAX, name: "an extension", signal };
  const result = await askProcess<ExtensionResult>(input, options);
  if (result.kind === "unreadable") throw new FormatError(result.message);
  return result.bytes;
}
