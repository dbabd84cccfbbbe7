/** Canaries in the live pointer. */
import type { Canary, CanaryState } from "../../shared/experiment/canary.ts";
import { type ExposureCount, ExposureCounts, exposureCountsPrefix } from "../../shared/experiment/counts.ts";
import type { NextCanary, RunningCanary } from "../../shared/experiment/running.ts";
import type { LivePointer } from "../../shared/live-pointer.ts";
import type { Live } from "../../shared/manifest.ts";
import { bucketsBeside } from "./control-buckets.ts";
import type { ModelRef } from "./live-pointer-swap.ts";
import { type ObjectStore, storedJson } from "./object-store.ts";

const HOUR_MS = 3_600_000;

type Begin = { readonly salt: string; readonly nowMs: number };

/** What the pointer says of a setting and a version. */
export const nextCanary = ({ share, hours, goal, guard }: Canary, version: Live): NextCanary => ({
  ...{ share, hours, goal, guard: guard ?? null, version },
});

/** The pointer with the version as its canary. */
export function withCanary(pointer: LivePointer, next: NextCanary, { salt, nowMs }: Begin): LivePointer {
  const { version, share, hours, goal, guard } = next;
  const { own, control, controlShare } = bucketsBeside(share);
  const arm = { version: null, scenario: null, strategy: null };
  const canary: RunningCanary = {
    ...{ name: "canary", salt, share, hours, goal, guard },
    started_at: new Date(nowMs).toISOString(),
    ends_at: new Date(nowMs + hours * HOUR_MS).toISOString(),
    arms: [
      { ...arm, name: "live", buckets: control },
      { ...arm, name: "canary", buckets: own, version },
    ],
    revisions: [{ live: controlShare, canary: share }],
  };
  const { next_canary: _, ...rest } = pointer;
  return { ...rest, canary, updated_at: new Date(nowMs).toISOString() };
}

export const canaryVersion = ({ arms }: RunningCanary): Live => arms[1]!.version!;

export const stateOfCanary = (canary: RunningCanary): CanaryState => ({
  version: canaryVersion(canary).version,
  state: "running",
  reason: null,
  share: canary.share,
  started_at: canary.started_at,
  ends_at: canary.ends_at,
  ended_at: null,
  report: null,
});

export const stateOfNext = ({ version: { version }, share }: NextCanary): CanaryState => ({
  ...{ version, state: "waiting", reason: null, share, started_at: null, ends_at: null, ended_at: null, report: null },
});

/** The counts that the shards have written. A damaged object counts nobody, since the shard writes it again. */
export async function readExposureCounts(
  store: ObjectStore,
  { customer }: Pick<ModelRef, "customer">,
  salt: string,
): Promise<ExposureCount[]> {
  const counts: ExposureCount[] = [];
  for await (const { key } of store.list(exposureCountsPrefix(customer, salt))) {
    const found = await store.get(key);
    counts.push(...(ExposureCounts.safeParse(found && storedJson(found.bytes)).data?.counts ?? []));
  }
  return counts;
}
