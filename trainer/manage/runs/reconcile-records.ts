/**
 * Keeps a model's record (Postgres) and its live pointer (bucket) in agreement. The pointer decides which version is live;
 * the record decides everything else: the status of a model without a version, and whether the model is deleted.
 */
import { setTimeout as delay } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { LivePointer, ModelStatus } from "../../../shared/live-pointer.ts";
import { modelKey } from "../../../shared/manifest.ts";
import { statusAfter } from "../../../shared/model-record.ts";
import { EVENTS, type ModelSpec } from "../../../shared/model-spec.ts";
import { errorForLog, type Log } from "../../log/log.ts";
import { type ModelRef, readLivePointer, setStatus } from "../../store/live-pointer-swap.ts";
import { type ObjectStore, StoreError } from "../../store/object-store.ts";
import { readManifest } from "../../store/versions.ts";
import { oneAtATime } from "../one-at-a-time.ts";
import type { ModelRegistry } from "../records/model-registry.ts";
import { checkScenarios } from "./check-scenarios.ts";
import { settleCanary } from "./settle-canary.ts";
import { settleHoldout } from "./settle-holdout.ts";
import { versionMetrics } from "./version-metrics.ts";

export type ReconcileContext = {
  readonly store: ObjectStore;
  readonly registry: ModelRegistry;
  readonly nowMs: () => number;
};

/** Reconciles models in the background: one write at a time per model, since R2 takes one write per second and object. */
export type PointerKeeper = {
  /** To be called after every change of a record or a pointer. Returns at once. Changes that follow fast share one write. */
  reconcile(model: ModelRef): void;
  /** Resolves when the requested reconciliation of this model has been tried, or after `waitMs`. */
  whenReconciled(model: ModelRef, waitMs: number): Promise<void>;
  /** Tries the models again whose last attempt failed. */
  retryFailed(): void;
  /** Resolves when nothing is left to be tried. */
  idle(): Promise<void>;
};

export type KeeperContext = ReconcileContext & {
  readonly log: Log;
  /** Called after each reconciliation that succeeded: another version may be live. */
  readonly onSettled?: (model: ModelRef) => void;
};

export function pointerKeeper(context: KeeperContext): PointerKeeper {
  const inTurn = oneAtATime();
  const failed = new Map<string, ModelRef>(); // by model key
  const inProgress = new Map<string, Promise<void>>(); // the newest attempt, by model key

  const reconcile = ({ customer, modelName }: ModelRef) => {
    const key = modelKey({ customer, modelName });
    const attempt = inTurn(key, async () => {
      failed.delete(key);
      try {
        await reconcileRecords({ customer, modelName }, context);
        const isOtherLive = await settleCanary({ customer, modelName }, context);
        if (isOtherLive) await reconcileRecords({ customer, modelName }, context);
        await settleHoldout({ customer, modelName }, context);
        await checkScenarios({ customer, modelName }, context);
        context.onSettled?.({ customer, modelName });
      } catch (error) {
        failed.set(key, { customer, modelName });
        const about = { customer, model_name: modelName };
        context.log({ event: "pointer_not_settled", level: "warning", ...about, error: errorForLog(error) });
      }
    });
    inProgress.set(key, attempt);
    void attempt.then(() => inProgress.get(key) === attempt && inProgress.delete(key));
  };

  return {
    reconcile,
    async whenReconciled(model, waitMs) {
      const timeout = new AbortController();
      await Promise.race([
        inProgress.get(modelKey(model)),
        delay(waitMs, undefined, { ref: false, signal: timeout.signal }).catch(() => undefined),
      ]);
      timeout.abort();
    },
    retryFailed() {
      for (const model of failed.values()) reconcile(model);
    },
    async idle() {
      while (inProgress.size > 0) await Promise.all(inProgress.values());
    },
  };
}

const ROUNDS_MAX = 10;

/**
 * Makes a model's record and its live pointer agree. Several trainers may change either of the two at any time. So each is
 * read again after the other was written, until nothing is left to write. The last writer sees any disagreement.
 *
 * @throws StoreError
 */
export async function reconcileRecords(model: ModelRef, context: ReconcileContext): Promise<void> {
  const { store, registry, nowMs } = context;
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const desired = await desiredState(model, registry);
    const isUnchanged = async () => isDeepStrictEqual(await desiredState(model, registry), desired);
    const live = await writeStatus(model, { store, desired, nowMs: nowMs(), isUnchanged });
    if (live !== undefined && live !== desired.version) await adoptVersion(model, live, context);
    else if (await isUnchanged()) return;
  }
  const name = JSON.stringify(model.modelName);
  throw new StoreError(`Record and live pointer of ${name} changed ${ROUNDS_MAX} times in turn.`, { retryable: true });
}

/** The content that the pointer should have according to the record. */
type PointerState = {
  readonly status: ModelStatus;
  readonly version: string | null;
  readonly events?: LivePointer["events"];
};

async function desiredState({ customer, modelName }: ModelRef, registry: ModelRegistry): Promise<PointerState> {
  const model = await registry.find(customer, modelName);
  if (model === undefined || model.status === "DESTROYING") return { status: "DESTROYING", version: null };
  const status = statusAfter(model.status, model.training.state, false);
  return { status, version: model.version, events: countedEvents(model.spec) };
}

/** The events by which an edge can rank before the first version: those of a model that learns from nothing else. */
function countedEvents({ connector_configs, schema }: ModelSpec): LivePointer["events"] {
  const meanings = schema.interaction.events;
  return meanings && connector_configs.every(({ type }) => type === EVENTS) ? { meanings } : undefined;
}

type PointerUpdate = {
  readonly store: ObjectStore;
  readonly desired: PointerState;
  readonly nowMs: number;
  readonly isUnchanged: () => Promise<boolean>;
};

/**
 * Writes the status where it is due. ACTIVE is never written here, since only a publication or an activation makes a version
 * live. A tombstone ends the serving of a model, so the record is read again right before it is written.
 *
 * @returns The live version.
 */
async function writeStatus(model: ModelRef, update: PointerUpdate): Promise<string | undefined> {
  const { store, desired, nowMs, isUnchanged } = update;
  const { status, events } = desired;
  const change = { status, events, nowMs, mayWrite: status === "DESTROYING" ? isUnchanged : undefined };
  const pointer =
    status === "ACTIVE" ? (await readLivePointer(store, model))?.pointer : await setStatus(store, model, change);
  return pointer?.live?.version;
}

/** Writes to the record that the version is live. */
async function adoptVersion(model: ModelRef, version: string, { store, registry }: ReconcileContext): Promise<void> {
  const { customer, modelName } = model;
  const metrics = await versionMetrics(store, model, version);
  const itemIdType = (await readManifest(store, model, version))?.item_id_type ?? null;
  await registry.apply(customer, modelName, { kind: "activated", version, itemIdType, metrics });
}
