import { NOT_ENOUGH_EVENTS } from "../run/not-enough-events.ts";
import { scheduleEventRuns } from "./models/event-runs.ts";
import { scheduleDueRuns, upkeepOnce } from "./models/upkeep.ts";
import type { Model } from "./records/model-transitions.ts";
import type { Run } from "./records/run-ledger.ts";
import { performRun } from "./runs/perform-run.ts";
import type { StopReason } from "./runs/run-lease.ts";
import { type ClosingStep, closeInReverse, openServices, type TrainerParts } from "./services.ts";
import { openTelemetry } from "./telemetry.ts";

/** Which runs to work on. Those of all other models keep waiting. */
export type OnlyRuns = { readonly customer?: string | undefined; readonly model?: string | undefined };

export type OnceResult = {
  /** The number of runs that this trainer has worked on. */
  readonly runs: number;
  /** Models, as `customer/model`, whose run has failed, whether or not it waits for a retry. */
  readonly failed: readonly string[];
};

const RUNS_LISTED_MAX = 10_000;

/**
 * Works on every run that is due or waits, and on upkeep, and then ends. Other trainers may work on the same database: the
 * claim of a run decides between them. A run that fails is not tried again here; its retry waits for the next trainer.
 *
 * @param signal When it is aborted, runs are stopped and wait for the next trainer.
 */
export async function trainOnce(parts: TrainerParts, only: OnlyRuns, signal: AbortSignal): Promise<OnceResult> {
  const closing: ClosingStep[] = [];
  try {
    const telemetry = await openTelemetry(parts);
    const services = await openServices({ ...parts, log: telemetry.log }, closing);
    await telemetry.observe(services.database, closing);
    const { database, registry, ledger, settings } = services;
    const context = { ...services, workers: { wake: () => undefined } };
    const work = async (): Promise<OnceResult> => {
      const done = new Map<string, Run>();
      await scheduleEventRuns(context);
      const next = async () => {
        await scheduleDueRuns(context);
        const waiting = await ledger.waiting(RUNS_LISTED_MAX, RUNS_LISTED_MAX);
        const meant = waiting.filter((run) => isMeant(run, only) && !done.has(run.runId));
        return signal.aborted ? [] : batchOf(meant, settings.runs.concurrency, settings.caps.runs);
      };
      for (let runs = await next(); runs.length > 0; runs = await next()) {
        for (const run of runs) done.set(run.runId, run);
        await Promise.all(runs.map((run) => performRun(run, services, stopBy(signal))));
      }
      await upkeepOnce(context, signal);
      if (!signal.aborted) await services.extensions.finish();
      const models = await Promise.all([...done.values()].map((run) => registry.find(run.customer, run.modelName)));
      const isFailed = (model: Model | undefined) =>
        model?.failure && model.training.state !== "IDLE" && model.failure.code !== NOT_ENOUGH_EVENTS;
      const failed = models.filter(isFailed);
      return { runs: done.size, failed: failed.map((model) => `${model!.customer}/${model!.modelName}`) };
    };
    return await Promise.race([database.failed, work()]);
  } finally {
    await closeInReverse(closing, parts.log);
  }
}

const isMeant = (run: Run, { customer, model }: OnlyRuns) =>
  (customer === undefined || run.customer === customer) && (model === undefined || run.modelName === model);

/** The first runs, as many as may work at the same time. */
function batchOf(runs: readonly Run[], concurrency: number, perCustomer: number): Run[] {
  const batch: Run[] = [];
  for (const run of runs) {
    const ofCustomer = batch.filter(({ customer }) => customer === run.customer).length;
    if (batch.length < concurrency && ofCustomer < perCustomer) batch.push(run);
  }
  return batch;
}

/** A run has a controller of its own, because a lost lease stops that run only. */
function stopBy(signal: AbortSignal): AbortController {
  const stop = new AbortController();
  const abort = () => stop.abort("stopping" satisfies StopReason);
  if (signal.aborted) abort();
  else signal.addEventListener("abort", abort, { once: true });
  return stop;
}
