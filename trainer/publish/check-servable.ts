import type { Manifest } from "../../shared/manifest.ts";
import { changedItemsBytes, leastMemoryBytes, MEGABYTE } from "../../shared/memory-cost.ts";
import { StageError } from "../stage/stage-error.ts";

/**
 * Refuses a version that no isolate could load: once it were live, every rank call would fail.
 *
 * @param edgeMemoryBytes Memory of an isolate for versions.
 * @param haveChanges Whether the customer has changed items since a training.
 * @throws StageError `version_too_large`
 */
export function checkServable(manifest: Manifest, edgeMemoryBytes: number, haveChanges = false): void {
  const needed = leastMemoryBytes([manifest], haveChanges);
  if (needed <= edgeMemoryBytes) return;
  const sizes = [needed, edgeMemoryBytes, manifest.attributes?.size ?? 0, changedItemsBytes(manifest)];
  const [neededMb, mb, attributesMb, changesMb] = sizes.map((bytes) => (bytes / MEGABYTE).toFixed(1));
  const ofChanges = haveChanges ? `, of which ${changesMb} MB are for changed items` : "";
  throw new StageError(
    "deploying",
    "version_too_large",
    `The version needs ${neededMb} MB of an isolate${ofChanges}, and the edge has ${mb} MB for versions: lower SHORTLIST_WEIGHT_MB, ` +
      `declare fewer item features (they take ${attributesMb} MB), ` +
      "or raise the edge's CACHE_MEGABYTES and SHORTLIST_EDGE_CACHE_MB together",
  );
}
