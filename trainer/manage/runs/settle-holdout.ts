/** Makes the holdout in the live pointer what the model's setting says, and writes to the record what the model earns. */
import { randomBytes } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { earningsOf, reportedPeriod } from "../../../shared/experiment/earnings.ts";
import type { Earnings, Holdout } from "../../../shared/experiment/holdout.ts";
import type { LivePointer } from "../../../shared/live-pointer.ts";
import { Problem } from "../../../shared/problem.ts";
import { readExposureCounts } from "../../store/canaries.ts";
import { isHoldoutOf, pinnedVersion, runningHoldout } from "../../store/holdouts.ts";
import { changeLivePointer, type ModelRef, readLivePointer } from "../../store/live-pointer-swap.ts";
import type { ObjectStore } from "../../store/object-store.ts";
import type { ModelRegistry } from "../records/model-registry.ts";

export type HoldoutContext = {
  readonly store: ObjectStore;
  readonly registry: ModelRegistry;
  readonly nowMs: () => number;
};

/** Throws StoreError. */
export async function settleHoldout(model: ModelRef, context: HoldoutContext): Promise<void> {
  const { store, registry } = context;
  const record = await registry.find(model.customer, model.modelName);
  if (!record || record.version === null || record.status === "DESTROYING") return;
  const wanted = record.spec.holdout;
  const pointer = (await readLivePointer(store, model))?.pointer;
  if (wanted === undefined && pointer?.holdout === undefined && record.earnings === null) return;
  const earnings = await earningsNow(model, wanted, pointer, context);
  if (!isDeepStrictEqual(earnings, record.earnings))
    await registry.apply(model.customer, model.modelName, { kind: "earnings", earnings });
}

async function earningsNow(
  model: ModelRef,
  wanted: Holdout | undefined,
  pointer: LivePointer | undefined,
  context: HoldoutContext,
): Promise<Earnings | null> {
  const { store, nowMs } = context;
  const now = nowMs();
  try {
    const isUpToDate = isHoldoutOf(pointer?.holdout, wanted);
    const current = isUpToDate ? pointer : await writeHoldout(model, wanted, context);
    if (!current?.holdout) return null;
    const period = reportedPeriod(current.holdout, now);
    return earningsOf(current.holdout, period, await readExposureCounts(store, model, period.salt));
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const nobody = { exposed: 0, reached: 0, rate: 0 };
    const at = new Date(now).toISOString();
    const none = { from: at, until: at, holdout: nobody, model: nobody, lift: null, more_per_1000_users: null };
    return { ...none, problem: error.message };
  }
}

/** Throws Problem version_not_found if the version was deleted meanwhile. */
function writeHoldout(
  model: ModelRef,
  wanted: Holdout | undefined,
  { store, nowMs }: HoldoutContext,
): Promise<LivePointer | undefined> {
  const salt = randomBytes(12).toString("hex");
  return changeLivePointer(store, model, async (current) => {
    if (!current?.live || isHoldoutOf(current.holdout, wanted)) return undefined;
    const { holdout: _, ...rest } = current;
    const begin = { salt, nowMs: nowMs() };
    const limits = { pointer: current, nowMs: nowMs(), edgeMemoryBytes: Number.POSITIVE_INFINITY };
    const holdout = wanted && runningHoldout(wanted, await pinnedVersion(store, model, wanted, limits), begin);
    return { ...rest, ...(holdout && { holdout }), updated_at: new Date(nowMs()).toISOString() };
  });
}
