/** Decides what becomes of a model's canary, and writes it to the live pointer and to the records. The pointer says which canary runs. */
import { randomBytes } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { CanaryState } from "../../../shared/experiment/canary.ts";
import { judgeCanary } from "../../../shared/experiment/decide-canary.ts";
import { keptBy, type RunningCanary } from "../../../shared/experiment/running.ts";
import type { LivePointer } from "../../../shared/live-pointer.ts";
import { canaryVersion, readExposureCounts, stateOfCanary, withCanary } from "../../store/canaries.ts";
import { changeLivePointer, type ModelRef, readLivePointer } from "../../store/live-pointer-swap.ts";
import type { ObjectStore } from "../../store/object-store.ts";
import type { ModelRegistry } from "../records/model-registry.ts";

type Context = { readonly store: ObjectStore; readonly registry: ModelRegistry; readonly nowMs: () => number };

const CANARIES_MAX = 5;

/**
 * Takes a worse canary back, puts one live whose time is over, and begins the one that waits. Every step is repeated after a crash: an
 * ended canary is recognised by being absent from the pointer.
 *
 * @returns Whether another version went live.
 * @throws StoreError
 */
export async function settleCanary(model: ModelRef, context: Context): Promise<boolean> {
  const { store, registry, nowMs } = context;
  let isChanged = false;
  for (let round = 0; round < CANARIES_MAX; round++) {
    const pointer = (await readLivePointer(store, model))?.pointer;
    if (!pointer?.live || pointer.status === "DESTROYING") return isChanged;
    const { canary, next_canary } = pointer;
    const record = await registry.find(model.customer, model.modelName);
    const known = record?.lastCanary;
    if (known?.state === "running" && known.version !== (canary && canaryVersion(canary).version))
      await registry.noteCanary(model, endedElsewhere(known, pointer, nowMs()));
    if (canary !== undefined || known || record?.spec.canary)
      await registry.endWaiting(model, [next_canary?.version.version, canary && canaryVersion(canary).version]);
    if (canary === undefined) {
      if (next_canary === undefined) return isChanged;
      await changeLivePointer(store, model, (current) => {
        if (!current?.live || current.canary || !current.next_canary) return undefined;
        const begin = { salt: randomBytes(12).toString("hex"), nowMs: nowMs() };
        return withCanary(current, current.next_canary, begin);
      });
      continue;
    }
    const ended = await judged(model, canary, context);
    if (!ended) return isChanged;
    isChanged ||= ended.state === "live";
  }
  return isChanged;
}

/** The state of a canary that has ended now; undefined while it goes on. */
async function judged(
  model: ModelRef,
  canary: RunningCanary,
  { store, registry, nowMs }: Context,
): Promise<CanaryState | undefined> {
  const now = nowMs();
  const counts = await readExposureCounts(store, model, canary.salt);
  const { report, decision } = judgeCanary(canary, counts, now);
  const running: CanaryState = { ...stateOfCanary(canary), report: counts.length === 0 ? null : report };
  if (decision.kind === "running") {
    const known = (await registry.find(model.customer, model.modelName))?.lastCanary;
    if (!known || !isDeepStrictEqual(factsOf(known), factsOf(running))) await registry.noteCanary(model, running);
    return undefined;
  }
  const updated_at = new Date(now).toISOString();
  let isOurs = false;
  await changeLivePointer(store, model, (current) => {
    isOurs = current?.canary?.salt === canary.salt;
    if (!current || !isOurs) return undefined;
    const { canary: _, ...rest } = current;
    if (decision.kind === "kept") return { ...rest, updated_at };
    const { next_canary } = current;
    const live = canaryVersion(canary);
    return { format: 1, status: "ACTIVE", live, ...keptBy(current), ...(next_canary && { next_canary }), updated_at };
  });
  if (!isOurs) return undefined; // somebody else has ended it, and the next round notices
  const reason = decision.kind === "kept" ? decision.reason : null;
  const ended: CanaryState = { ...running, state: decision.kind, reason, ended_at: updated_at };
  await registry.noteCanary(model, ended);
  return ended;
}

/** What a canary's users did. The rest of a report changes with the time alone, which is no reason to write it again. */
const factsOf = ({ version, state, report }: CanaryState) => [version, state, report?.arms];

/** The state of a canary that the pointer has lost, with its last report. */
function endedElsewhere(known: CanaryState, { live, updated_at }: LivePointer, nowMs: number): CanaryState {
  if (live?.version === known.version) return { ...known, state: "live", ended_at: updated_at };
  const reason = "Another version was activated, or its files were deleted, while it served its share.";
  return { ...known, state: "kept", reason, ended_at: new Date(nowMs).toISOString() };
}
