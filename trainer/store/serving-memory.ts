/** The versions of a model that serve at the same time, and the memory that they take in an edge. */

import { changesHeadKey } from "../../shared/items/changes-file.ts";
import type { LivePointer } from "../../shared/live-pointer.ts";
import type { Manifest } from "../../shared/manifest.ts";
import { leastMemoryBytes, MEGABYTE, RUNTIME_HEAP_BYTES } from "../../shared/memory-cost.ts";
import type { ModelRef } from "./live-pointer-swap.ts";
import type { ObjectStore } from "./object-store.ts";
import { readManifest } from "./versions.ts";

/** The versions that a pointer names, without the one that waits. */
export const servingVersions = ({ live, experiment, canary, holdout }: LivePointer): string[] => [
  ...new Set(
    [
      live,
      ...[experiment, canary, holdout].flatMap((running) => running?.arms.map(({ version }) => version) ?? []),
    ].flatMap((version) => version?.version ?? []),
  ),
];

/** Whether the customer has changed items of the model since a training. */
export const hasChangedItems = async (store: ObjectStore, { customer, modelName }: ModelRef): Promise<boolean> =>
  (await store.head(changesHeadKey(customer, modelName))) !== undefined;

/** Undefined if an isolate can hold the versions with changed items, else their sizes and what helps, as sentences. */
export async function memoryFault(
  store: ObjectStore,
  model: ModelRef,
  versions: readonly string[],
  edgeMemoryBytes: number,
): Promise<string | undefined> {
  if (versions.length === 1) return undefined;
  const found = await Promise.all(versions.map((version) => readManifest(store, model, version)));
  const manifests = found.filter((manifest) => manifest !== undefined);
  const haveChanges = await hasChangedItems(store, model);
  const needed = leastMemoryBytes(manifests, haveChanges);
  if (needed <= edgeMemoryBytes) return undefined;
  const sizeOf = (manifest: Manifest | undefined) =>
    manifest ? leastMemoryBytes([manifest], haveChanges) - RUNTIME_HEAP_BYTES : 0;
  const sizes = versions.map((version, i) => `${version} takes ${megabytes(sizeOf(found[i]))}`).join(", ");
  return (
    `An edge has ${megabytes(edgeMemoryBytes)} for versions, and ${megabytes(needed)} are needed: ${sizes}` +
    `${haveChanges ? ", each with its changed items" : ""}. Lower SHORTLIST_WEIGHT_MB, or raise the edge's CACHE_MEGABYTES and ` +
    "SHORTLIST_EDGE_CACHE_MB together."
  );
}

const megabytes = (bytes: number) => `${(bytes / MEGABYTE).toFixed(1)} MB`;
