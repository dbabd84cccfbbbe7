/** The actions on a customer's models. Each changes the rows first, and then wakes the loop that works on them. */
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { ModelSpec } from "../../../shared/model-spec.ts";
import { Problem } from "../../../shared/problem.ts";
import type { CustomerCaps } from "../../settings.ts";
import type { ModelRef } from "../../store/live-pointer-swap.ts";
import type { ObjectStore } from "../../store/object-store.ts";
import { activate } from "../../store/versions.ts";
import { type Database, isDuplicate, type Queries } from "../records/database.ts";
import type { CreationRequest, ModelRegistry } from "../records/model-registry.ts";
import { isBusy, type Model, type SpecChange } from "../records/model-transitions.ts";
import type { Ignored, RunLedger } from "../records/run-ledger.ts";
import type { PointerKeeper } from "../runs/reconcile-records.ts";
import { versionMetrics } from "../runs/version-metrics.ts";
import type { Loop } from "./repeat.ts";
import type { RunWorkers } from "./run-workers.ts";
import { nextRunAt } from "./schedule.ts";

export type ActionContext = {
  readonly database: Database;
  readonly registry: ModelRegistry;
  readonly ledger: RunLedger;
  readonly workers: Pick<RunWorkers, "wake" | "cancel">;
  readonly removals: Pick<Loop, "wake">;
  readonly store: ObjectStore;
  readonly pointers: PointerKeeper;
  readonly caps: CustomerCaps;
  readonly nowMs: () => number;
};

/** How long an answer waits until the live pointer agrees with the record. After that, upkeep tries again. */
export const POINTER_WAIT_MS = 2000;

/** The model of that name. Throws Problem model_not_found. */
export async function findModel({ registry }: ActionContext, { customer, modelName }: ModelRef): Promise<Model> {
  const model = await registry.find(customer, modelName);
  if (model === undefined) throw modelNotFound(modelName);
  return model;
}

export type Creation = {
  readonly customer: string;
  readonly spec: ModelSpec;
  /** A repetition of the same request finds the model that the first one created. Undefined: every request counts. */
  readonly request?: CreationRequest | undefined;
};

/**
 * Creates a model and schedules its first run, unless an earlier request with the same Idempotency-Key did so.
 *
 * @throws Problem model_exists, quota_exceeded, rate_limited; idempotency_conflict when the key was used with another body.
 */
export async function createModel(
  context: ActionContext,
  creation: Creation,
): Promise<{ readonly model: Model; readonly isReplay: boolean }> {
  const earlier = await earlierModel(context, creation);
  if (earlier !== undefined) return { model: earlier, isReplay: true };
  try {
    return { model: await insertModel(context, creation), isReplay: false };
  } catch (error) {
    // If two requests with one key come at once, the second one is rolled back and finds the model of the first.
    const isRepetition = isDuplicate(error) || (error instanceof Problem && error.code === "model_exists");
    const first = isRepetition ? await earlierModel(context, creation) : undefined;
    if (first === undefined) throw isDuplicate(error) ? idempotencyConflict() : error;
    return { model: first, isReplay: true };
  }
}

const idempotencyConflict = () =>
  new Problem("idempotency_conflict", "This Idempotency-Key was used with another body: use a new key.");

async function earlierModel({ registry }: ActionContext, { customer, request }: Creation): Promise<Model | undefined> {
  const created = request && (await registry.createdBy(customer, request));
  if (created?.isSame === false) throw idempotencyConflict();
  return created?.model;
}

async function insertModel(context: ActionContext, { customer, spec, request }: Creation): Promise<Model> {
  const { database, registry, workers, pointers } = context;
  const nowMs = context.nowMs();
  const model = await database.transaction(async (queries) => {
    const times = { createdAt: new Date(nowMs).toISOString(), nextRunAt: nextRunAt(spec.train_schedule, nowMs, nowMs) };
    const inserted = await registry.insert(queries, { customer, spec, request, ...times });
    if (inserted === undefined)
      throw nameTaken(spec.model_name, await registry.find(customer, spec.model_name, queries));
    if ((await registry.countOf(customer, queries)) > context.caps.models) throw tooManyModels(context.caps.models);
    return (await scheduleRun(context, inserted, queries))!;
  });
  pointers.reconcile(model);
  workers.wake();
  return model;
}

const tooManyModels = (max: number) =>
  new Problem(
    "quota_exceeded",
    `You have ${max} models, which is the operator's limit (SHORTLIST_CUSTOMER_MODELS): delete one first.`,
  );

function nameTaken(modelName: string, model: Model | undefined): Problem {
  const name = JSON.stringify(modelName);
  if (model?.status === "DESTROYING")
    return new Problem("model_exists", `A model with the name ${name} is still being deleted.`, {
      retryAfterSeconds: 30,
    });
  return new Problem(
    "model_exists",
    `There is already a model with the name ${name}: delete it, or choose another name.`,
  );
}

/**
 * The model with a new run that waits. Undefined when a run of it waits or works already, or the model is being deleted.
 *
 * @throws Problem rate_limited when too many runs of the customer wait. The transaction must then be rolled back.
 */
export async function scheduleRun(
  { registry, ledger, caps }: Pick<ActionContext, "registry" | "ledger" | "caps">,
  { customer, modelName }: ModelRef,
  queries: Queries,
  ignored: Ignored = [],
): Promise<Model | undefined> {
  const run = { runId: randomUUID(), customer, modelName, ignored };
  const model = await registry.apply(customer, modelName, { kind: "scheduled", runId: run.runId }, queries);
  if (model === undefined) return undefined;
  await ledger.create(queries, run);
  if ((await ledger.countOf(customer, queries)) > caps.queue) {
    const detail = `${caps.queue} runs of yours wait or work, which is the operator's limit (SHORTLIST_CUSTOMER_QUEUE).`;
    throw new Problem("rate_limited", detail, { retryAfterSeconds: 60 });
  }
  return model;
}

/** Ends the wait of a run for its retry. Undefined if the model has no such run. */
async function hastenRun(
  { registry, ledger }: ActionContext,
  { customer, modelName }: ModelRef,
  queries: Queries,
): Promise<Model | undefined> {
  const model = await registry.find(customer, modelName, queries);
  const runId = model?.training.runId;
  if (!model || !runId || model.status === "DESTROYING") return undefined;
  return (await ledger.hasten(runId, queries)) ? model : undefined;
}

/**
 * The model with a new run, or with its waiting retry brought forward.
 *
 * @throws Problem model_busy, model_not_found, rate_limited.
 */
export async function trainNow(context: ActionContext, ref: ModelRef, ignored: Ignored = []): Promise<Model> {
  const scheduled = await context.database.transaction(async (queries) => {
    const model = await scheduleRun(context, ref, queries, ignored);
    // A waiting run ignores what its own call has said.
    return model ?? (ignored.length === 0 ? await hastenRun(context, ref, queries) : undefined);
  });
  if (scheduled === undefined) {
    const model = await findModel(context, ref);
    if (model.status === "DESTROYING") throw modelNotFound(ref.modelName);
    const { runId, state } = model.training;
    const name = JSON.stringify(ref.modelName);
    const detail = `The model ${name} has the run ${runId} in state ${state}: wait for its end.`;
    throw new Problem("model_busy", detail, { retryAfterSeconds: 30, extra: { training: { state, run_id: runId } } });
  }
  context.pointers.reconcile(scheduled);
  context.workers.wake();
  return scheduled;
}

/**
 * The model with the spec that `revise` returns for its present one. A change of the data or the schema stops the present
 * run and schedules a new one.
 *
 * @throws Problem model_not_found, rate_limited; model_busy when others keep changing the model.
 */
export async function changeModel(
  context: ActionContext,
  ref: ModelRef,
  revise: (model: Model) => ModelSpec,
): Promise<Model> {
  for (let attempt = 0; attempt < CHANGE_ATTEMPTS_MAX; attempt++) {
    const model = await findModel(context, ref);
    if (model.status === "DESTROYING") throw modelNotFound(ref.modelName);
    const change = changeTo(revise(model), model, context.nowMs());
    const changed = await context.database.transaction((queries) => writeChange(context, model, change, queries));
    if (changed === undefined) continue;
    if (change.retrain) stopRun(context, model);
    context.pointers.reconcile(changed);
    context.workers.wake();
    return changed;
  }
  throw new Problem("model_busy", "The model is being changed by others: read it again, and repeat the change.");
}

const CHANGE_ATTEMPTS_MAX = 5;

function changeTo(spec: ModelSpec, model: Model, nowMs: number): SpecChange {
  const { spec: from, createdAt, training } = model;
  const isRescheduled = spec.train_schedule !== from.train_schedule;
  return {
    kind: "changed",
    from,
    spec,
    retrain:
      !isDeepStrictEqual(spec.schema, from.schema) ||
      !isDeepStrictEqual(spec.objective, from.objective) ||
      !isDeepStrictEqual(spec.connector_configs, from.connector_configs),
    nextRunAt: isRescheduled ? nextRunAt(spec.train_schedule, Date.parse(createdAt), nowMs) : training.nextRunAt,
  };
}

async function writeChange(context: ActionContext, model: Model, change: SpecChange, queries: Queries) {
  const changed = await context.registry.apply(model.customer, model.modelName, change, queries);
  if (changed === undefined || !change.retrain) return changed;
  const free = isBusy(changed) ? await cancelRun(context, changed, queries) : changed;
  // While a trainer still works on the old run, no new one can be scheduled: upkeep does it after the old one's end.
  return (free && (await scheduleRun(context, free, queries))) ?? changed;
}

/** The model without its run, or undefined when a trainer works on the run and is to end it. */
async function cancelRun(
  { ledger, registry }: ActionContext,
  model: Model,
  queries: Queries,
): Promise<Model | undefined> {
  const { runId, attempt } = model.training;
  if (await ledger.cancel(runId!, queries)) return undefined;
  const event = { kind: "cancelled" as const, runId: runId!, attempt };
  return await registry.apply(model.customer, model.modelName, event, queries);
}

/** Stops the model's run at once if it works in this process. Another process notices when it renews the lease. */
function stopRun({ workers }: ActionContext, { training }: Model): void {
  if (training.runId !== null) workers.cancel(training.runId);
}

/**
 * Deletes a model, whatever its state. Ranking stops now; the files are removed in the background.
 *
 * @returns Whether everything is gone already. False while a run is being stopped, or when the removal takes longer
 * than `waitMs`.
 * @throws Problem model_not_found.
 */
export async function destroyModel(context: ActionContext, ref: ModelRef, waitMs: number): Promise<boolean> {
  const { database, registry, ledger, removals, pointers } = context;
  const model = await database.transaction(async (queries) => {
    const destroying = await registry.apply(ref.customer, ref.modelName, { kind: "destroying" }, queries);
    if (destroying?.training.runId) await ledger.cancel(destroying.training.runId, queries);
    return destroying;
  });
  if (model === undefined) throw modelNotFound(ref.modelName);
  stopRun(context, model);
  pointers.reconcile(ref); // writes the tombstone; if this fails, the removal writes it
  await pointers.whenReconciled(ref, POINTER_WAIT_MS);
  const isStopping = await ledger.isLeased(ref.customer, ref.modelName);
  removals.wake();
  const deadlineMs = performance.now() + (isStopping ? 0 : waitMs);
  while (await registry.exists(model)) {
    if (performance.now() >= deadlineMs) return false;
    await delay(50); // any trainer may remove it, so only the row shows the end
  }
  return true;
}

/**
 * The model with another of its stored versions live.
 *
 * @throws Problem version_not_found, model_not_found.
 */
export async function activateVersion(context: ActionContext, model: Model, version: string): Promise<Model> {
  const { registry, store, pointers, nowMs } = context;
  const { customer, modelName } = model;
  if (model.status === "DESTROYING") throw modelNotFound(modelName);
  const exists = () => registry.exists(model);
  const manifest = await activate(store, { customer, modelName }, { version, nowMs: nowMs(), exists });
  const metrics = await versionMetrics(store, model, version);
  const itemIdType = manifest.item_id_type;
  const changed = await registry.apply(customer, modelName, { kind: "activated", version, itemIdType, metrics });
  if (changed === undefined) throw modelNotFound(modelName);
  pointers.reconcile(changed);
  await pointers.whenReconciled(changed, POINTER_WAIT_MS);
  return await findModel(context, changed); // somebody may have activated another version meanwhile
}

const modelNotFound = (modelName: string) =>
  new Problem("model_not_found", `There is no model with the name ${JSON.stringify(modelName)}.`);
