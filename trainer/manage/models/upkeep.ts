/**
 * Periodic work: runs that are due, failed writes that are tried again, and an hourly sweep of what is no longer needed. Every
 * step reads rows and may be repeated.
 */
import { Problem } from "../../../shared/problem.ts";
import { errorForLog, type Log } from "../../log/log.ts";
import type { CustomerCaps } from "../../settings.ts";
import { listAllEventFiles } from "../../store/event-files.ts";
import { writeLearntMarks } from "../../store/learnt-marks.ts";
import type { ObjectStore } from "../../store/object-store.ts";
import { tidyEventFiles } from "../../store/tidy-event-files.ts";
import { backUpRegularly } from "../records/backup.ts";
import type { Batches } from "../records/batches.ts";
import type { Database } from "../records/database.ts";
import type { ErasureDeadlines } from "../records/erasure-deadlines.ts";
import type { Erasures } from "../records/erasures.ts";
import type { ModelRegistry } from "../records/model-registry.ts";
import type { Model } from "../records/model-transitions.ts";
import type { RunLedger } from "../records/run-ledger.ts";
import type { ModelFolders } from "../runs/model-folders.ts";
import { deleteBatchFiles } from "../runs/perform-batch.ts";
import type { PointerKeeper } from "../runs/reconcile-records.ts";
import { LISTENING_MAX, scheduleEventRuns } from "./event-runs.ts";
import { scheduleRun } from "./model-actions.ts";
import { type Loop, repeat } from "./repeat.ts";
import type { RunWorkers } from "./run-workers.ts";
import { nextRunAt } from "./schedule.ts";

export type UpkeepContext = {
  readonly database: Database;
  readonly store: ObjectStore;
  readonly registry: ModelRegistry;
  readonly ledger: RunLedger;
  readonly workers: Pick<RunWorkers, "wake">;
  readonly batches: Batches;
  readonly pointers: PointerKeeper;
  readonly folders: ModelFolders;
  readonly erasures: Erasures;
  readonly deadlines: ErasureDeadlines;
  readonly caps: CustomerCaps;
  readonly backupHours: number;
  readonly eventRetentionMs: number;
  readonly nowMs: () => number;
  readonly log: Log;
};

const BATCH = 100;
const EVENTS_EVERY_MS = 30_000;
const CANARIES_MAX = 10_000;
const SWEEP_EVERY_MS = 3_600_000;
const RECONCILED_AT_ONCE = 16;
const RECONCILE_MS_MAX = 10_000;

export function startUpkeep(context: UpkeepContext, pauseMs: number): Loop {
  const stopping = new AbortController();
  let sweptMs = Number.NEGATIVE_INFINITY;
  let eventsMs = Number.NEGATIVE_INFINITY;
  const turn = async () => {
    await scheduleDueRuns(context);
    if (performance.now() - eventsMs >= EVENTS_EVERY_MS) {
      eventsMs = performance.now();
      await scheduleEventRuns(context);
      for (const model of await context.registry.withCanary(CANARIES_MAX)) context.pointers.reconcile(model);
    }
    context.pointers.retryFailed();
    await context.erasures.settle();
    if (performance.now() - sweptMs < SWEEP_EVERY_MS) return;
    sweptMs = performance.now();
    await sweep(context, stopping.signal);
  };
  const loop = repeat(turn, { pauseMs, failureEvent: "upkeep_failed", log: context.log });
  return {
    wake: loop.wake,
    stop() {
      stopping.abort();
      return loop.stop();
    },
  };
}

/** Everything but the runs that are due, for a trainer that does not stay. */
export async function upkeepOnce(context: UpkeepContext, signal: AbortSignal): Promise<void> {
  await context.erasures.settle();
  await sweep(context, signal);
}

export async function scheduleDueRuns(context: UpkeepContext): Promise<void> {
  const { registry, workers, caps, nowMs, log } = context;
  const due = await registry.due(new Date(nowMs()).toISOString(), caps.queue, BATCH);
  for (const model of due)
    try {
      await scheduleDueRun(model, context);
    } catch (error) {
      if (error instanceof Problem && error.code === "rate_limited") continue; // it stays due until there is room
      const about = { customer: model.customer, model_name: model.modelName };
      log({ event: "upkeep_failed", level: "error", ...about, error: errorForLog(error) });
    }
  if (due.length > 0) workers.wake();
}

async function scheduleDueRun(model: Model, context: UpkeepContext): Promise<void> {
  const { database, registry, nowMs } = context;
  const { customer, modelName, spec, createdAt } = model;
  await database.transaction(async (queries) => {
    const next = nextRunAt(spec.train_schedule, Date.parse(createdAt), nowMs());
    // If two trainers find the same model due, the second one finds that a run waits already.
    await registry.apply(customer, modelName, { kind: "due", nextRunAt: next }, queries);
    await scheduleRun(context, model, queries);
  });
}

type SweepStep = (context: UpkeepContext, signal: AbortSignal) => Promise<void>;

const SWEEP: readonly SweepStep[] = [
  ({ erasures }) => erasures.restore(),
  async ({ deadlines, folders }) => {
    for (const { customer, storedBeforeMs } of await deadlines.due())
      await folders.removeRows(customer, storedBeforeMs);
  },
  removeOverdue,
  ({ folders, registry }) => folders.sweep(() => registry.names()),
  reconcileAll,
  async ({ store, registry }) => {
    const customers = new Set((await registry.listening(LISTENING_MAX)).map(({ customer }) => customer));
    for (const customer of customers) await writeLearntMarks(store, customer, await registry.names(customer));
  },
  tidyEvents,
  async ({ batches, store }) => {
    for (const batch of await batches.withOldFiles(BATCH)) {
      await deleteBatchFiles(batch, store);
      await batches.noteDeleted(batch.runId);
    }
    await batches.forgetOld();
  },
  (context) => backUpRegularly(context.backupHours, context),
  ({ database }) => database.maintain(),
];

/** Performs the hourly steps. A step that fails is logged, and the next sweep repeats it. */
async function sweep(context: UpkeepContext, signal: AbortSignal): Promise<void> {
  for (const step of SWEEP)
    try {
      await step(context, signal);
    } catch (error) {
      context.log({ event: "upkeep_failed", level: "error", error: errorForLog(error) });
    }
}

/** Schedules a run of each model that would otherwise keep an erased user for too long. The run begins with the removal. */
async function removeOverdue(context: UpkeepContext): Promise<void> {
  for (const model of await context.deadlines.overdue()) {
    const about = { customer: model.customer, model_name: model.modelName };
    try {
      const scheduled = await context.database.transaction((queries) => scheduleRun(context, model, queries));
      if (scheduled !== undefined) context.log({ event: "erasure_run_scheduled", level: "info", ...about });
    } catch (error) {
      context.log({ event: "upkeep_failed", level: "error", ...about, error: errorForLog(error) });
    }
  }
  context.workers.wake();
}

/** Tidies the event files of every customer. A damaged file stops the work for its customer only. */
async function tidyEvents(context: UpkeepContext, signal: AbortSignal): Promise<void> {
  const { store, nowMs, eventRetentionMs: retentionMs, log } = context;
  for (const [customer, files] of await listAllEventFiles(store))
    try {
      await tidyEventFiles(store, customer, files, { nowMs: nowMs(), retentionMs, signal });
    } catch (error) {
      log({ event: "upkeep_failed", level: "error", customer, error: errorForLog(error) });
    }
}

/** Reconciles every model: a trainer may have died between writing a record and its pointer. */
async function reconcileAll({ registry, pointers }: UpkeepContext, signal: AbortSignal): Promise<void> {
  const models = await registry.names();
  for (let at = 0; at < models.length && !signal.aborted; at += RECONCILED_AT_ONCE)
    await Promise.all(
      models.slice(at, at + RECONCILED_AT_ONCE).map((model) => {
        pointers.reconcile(model);
        return pointers.whenReconciled(model, RECONCILE_MS_MAX);
      }),
    );
}
