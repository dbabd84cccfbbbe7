/** The versions of a model that serve at the same time, and the memory that they take in an edge. */
import type { LivePointer } from "../../shared/live-pointer.ts";
import { leastMemoryBytes, MEGABYTE } from "../../shared/memory-cost.ts";
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

/** Undefined if an isolate can hold the versions, else their sizes as a sentence. */
export async function memoryFault(
  store: ObjectStore,
  model: ModelRef,
  versions: readonly string[],
  edgeMemoryBytes: number,
): Promise<string | undefined> {
  if (versions.length === 1) return undefined;
  const manifests = await Promise.all(versions.map((version) => readManifest(store, model, version)));
  const bytes = manifests.map((manifest) => (manifest ? leastMemoryBytes(manifest) : 0));
  if (bytes.reduce((sum, one) => sum + one, 0) <= edgeMemoryBytes) return undefined;
  const sizes = versions.map((version, i) => `${version} takes ${megabytes(bytes[i]!)}`).join(", ");
  return `An edge has ${megabytes(edgeMemoryBytes)} for versions, and ${sizes}.`;
}

const megabytes = (bytes: number) => `${(bytes / MEGABYTE).toFixed(1)} MB`;
